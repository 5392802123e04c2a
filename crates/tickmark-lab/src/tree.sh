# Packs what modules are built from: a kernel's source and objects, without what only the kernel itself needs.
# As scripts/package/install-extmod-build of Linux does. Arguments: source, objects, architecture, archive.
set -eu
source=$1 objects=$2 arch=$3 archive=$4
tree=$objects.tree
rm -rf "$tree"
mkdir "$tree"
cd "$source"
{
    echo Makefile
    find "arch/$arch" -maxdepth 1 -name 'Makefile*'
    find "arch/$arch" -name Kbuild.platforms -o -name Platform
    find "arch/$arch" -name include -type d
    find include scripts \( -type f -o -type l \)
} | tar -cf - -T - | tar -xf - -C "$tree"
cd "$objects"
{
    echo .config
    echo Module.symvers
    echo "arch/$arch/include/generated"
    find include scripts -type f
    find tools/objtool -maxdepth 1 -name objtool
} 2>/dev/null | tar -cf - -T - | tar -xf - -C "$tree"
find "$tree" \( -name '.*.cmd' -o -name '*.o' \) -delete
tar -czf "$archive" -C "$tree" .
rm -rf "$tree"
