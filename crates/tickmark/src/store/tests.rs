//! The store on real folders.
