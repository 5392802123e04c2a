//! Bisection of a kernel's commits. The tree here "compiles" images that the lab has built before: with which commit the other one
//! comes, which does not compile, and which gives something that is no kernel.

use super::image;
use crate::bench::{Bench, err, refused};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const MAKEFILE: &str = "\
tinyconfig:
	: > $(O)/.config
olddefconfig:
	tac $(O)/.config | awk '{match($$0, /CONFIG_[A-Za-z0-9_]+/); k = substr($$0, RSTART, RLENGTH)} !seen[k]++' > $(O)/.new
	mv $(O)/.new $(O)/.config
bzImage:
	test -z \"$(LLVM)$(KCFLAGS)\"
	mkdir -p $(O)/arch/x86/boot
	cp $(shell cat image) $(O)/arch/x86/boot/bzImage
";

pub(super) fn git(tree: &Path, arguments: &[&str]) -> String {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
    let output = Command::new("git").arg("-C").arg(tree).args(identity).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A cache whose series of kernels are its own; the programs that it builds are those of every test.
pub(super) fn own_cache(bench: &Bench) -> PathBuf {
    let cache = bench.store().with_file_name("cache");
    let usual = std::env::var_os("XDG_CACHE_HOME")
        .map_or_else(|| Path::new(&std::env::var_os("HOME").unwrap()).join(".cache"), Into::into);
    fs::create_dir_all(cache.join("tickmark")).unwrap();
    for shared in ["agents", "plugins", "programs", "symbols"] {
        let place = usual.join("tickmark").join(shared);
        fs::create_dir_all(&place).unwrap();
        std::os::unix::fs::symlink(place, cache.join("tickmark").join(shared)).unwrap();
    }
    cache
}

/// An image whose first code in protected mode is no code: the processor starts anew.
pub(super) fn that_does_not_boot(image: &Path) -> Vec<u8> {
    let mut bytes = fs::read(image).unwrap();
    let at = (usize::from(bytes[0x1f1]) + 1) * 512;
    bytes[at..at + 1024].as_chunks_mut().0.fill([0x0f, 0x0b]);
    bytes
}

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn the_commit_that_made_a_path_longer_is_found_and_its_functions() {
    let bench = Bench::new();
    let tree = bench.store().with_file_name("linux");
    let cache = own_cache(&bench);
    fs::create_dir(&tree).unwrap();
    let [short, long] = ["x86_64:hz=1000", "x86_64:hz=1000:osnoise=on"].map(image);
    let broken = bench.store().with_file_name("broken");
    fs::write(&broken, that_does_not_boot(&short)).unwrap();
    fs::write(tree.join("Makefile"), MAKEFILE).unwrap();
    git(&tree, &["init", "--quiet"]);
    for number in 0..=12 {
        let image = match number {
            5 => broken.as_path(),
            6 => Path::new("/nowhere"),
            number if number < 8 => short.as_path(),
            _ => long.as_path(),
        };
        fs::write(tree.join("image"), format!("{}\n", image.display())).unwrap();
        fs::write(tree.join("number"), number.to_string()).unwrap();
        git(&tree, &["add", "."]);
        git(&tree, &["commit", "--quiet", "-m", &format!("number {number}")]);
    }
    let bisect_of = |range: &str, probe: &str, more: &[&str]| {
        let place = tree.to_str().unwrap();
        let own = ["lab", "bisect", range, probe, "--tree", place, "--format", "json"];
        // What this process was given for other builds is not for these: with it, none succeeds.
        let mut bisect = bench.command(&[&own, more].concat());
        bisect.env("LLVM", "1").env("KCFLAGS", "-g").env("XDG_CACHE_HOME", &cache).output().unwrap()
    };
    let bisect = |range: &str| bisect_of(range, "syscall.signal.handle", &[]);
    let before = git(&tree, &["rev-parse", "HEAD"]);
    let output = bisect("HEAD~12..HEAD");
    // One that does not compile and one that does not boot are gone round, and said.
    let said = err(&output);
    for (number, why) in [(6, "was not built"), (5, "the guest ended before its agent sent an event")] {
        let commit = git(&tree, &["rev-parse", &format!("HEAD~{}", 12 - number)]);
        let line = said.lines().find(|line| line.contains(&commit[..12])).unwrap_or_default();
        assert!(line.contains("is left out") && line.contains(why), "{number}: {said}");
    }
    let model = crate::bench::page_of(&output.stdout);
    let answer = model["answer"].as_str().unwrap();
    assert!(answer.contains("(number 8)") && answer.contains("instructions more since"), "{answer}");
    assert_eq!(model["found"].as_array().unwrap().len(), 1, "{model}");
    assert_eq!(model["found"][0], git(&tree, &["rev-parse", "HEAD~4"]));
    let functions = model["functions"].as_array().unwrap();
    assert!(functions.iter().any(|one| one["name"] == "uprobe_deny_signal"), "{functions:?}");
    let all: f64 = functions.iter().map(|one| one["difference"].as_f64().unwrap()).sum();
    let at = |subject: &str| {
        let measured = model["measured"].as_array().unwrap();
        measured
            .iter()
            .find(|one| one["subject"] == subject)
            .unwrap_or_else(|| panic!("no {subject} in {measured:?}"))
    };
    let [short, long] = ["number 7", "number 8"].map(|subject| at(subject)["instructions"].as_f64().unwrap());
    assert!((all - (long - short)).abs() < 2.0, "{all} {short} {long}");
    // Six measurements or so, the user's tree as it was, and nothing of gigabytes left.
    assert!(model["measured"].as_array().unwrap().len() <= 8, "{model}");
    assert_eq!(
        (git(&tree, &["status", "--porcelain"]), git(&tree, &["rev-parse", "HEAD"])),
        (String::new(), before)
    );
    assert_eq!(fs::read_dir(cache.join("tickmark/commits")).unwrap().count(), 0);
    // What was measured is taken up: the same answer, of images that are made again for the functions alone.
    let boots = || fs::read_dir(bench.store().join("recordings")).unwrap().count();
    let made = boots();
    assert_eq!(crate::bench::page_of(&bisect("HEAD~12..HEAD").stdout)["found"], model["found"]);
    assert_eq!(boots(), made + 2);
    // One end of which nothing comes, none of which anything comes, and no difference.
    refused(&bisect("HEAD~6..HEAD"), 1, &["an end of the range"]);
    let none = bisect("HEAD~3..HEAD");
    assert_eq!(none.status.code(), Some(5), "{none:?}");
    refused(&bisect("HEAD..HEAD~3"), 2, &["no ancestor"]);
    refused(&bisect("HEAD..HEAD"), 2, &["no commit to find"]);
    let other = bisect_of("HEAD~3..HEAD", "syscall.null", &["--kernel", "powerpc", "--agent", "rust"]);
    refused(&other, 2, &["give agent c on powerpc"]);
    let other = bisect_of("HEAD~3..HEAD", "syscall.epoll.tcp", &["--kernel", "powerpc"]);
    refused(&other, 2, &["agent c has no probe syscall.epoll.tcp"]);
    let other = bisect_of("HEAD~3..HEAD", "timer.clock_nanosleep.late", &[]);
    refused(&other, 2, &["is no floor of batches"]);
    // The tick: not the floor of the loop that it interrupts, which is the same everywhere.
    let tick = crate::bench::page_of(&bisect_of("HEAD~5..HEAD~4", "tick.spin", &[]).stdout);
    assert_eq!(tick["found"][0], model["found"][0], "{tick}");
    assert!(tick["answer"].as_str().unwrap().starts_with("a tick takes "), "{tick}");
    let counts = tick["measured"].as_array().unwrap().iter().map(|one| one["instructions"].as_f64().unwrap());
    assert!(
        counts.clone().count() == 2 && counts.clone().all(|count| (2000.0..3000.0).contains(&count)),
        "{tick}"
    );
    // A good commit that a merge brought: those before the merge lack it, and are not looked at.
    let main = git(&tree, &["symbolic-ref", "--short", "HEAD"]);
    git(&tree, &["checkout", "--quiet", "-b", "fix", "HEAD~12"]);
    fs::write(tree.join("fix"), "").unwrap();
    git(&tree, &["add", "."]);
    git(&tree, &["commit", "--quiet", "-m", "fix"]);
    git(&tree, &["checkout", "--quiet", &main]);
    git(&tree, &["merge", "--quiet", "--no-ff", "-m", "merge", "fix"]);
    let merged = crate::bench::page_of(&bisect("fix..HEAD").stdout);
    assert_eq!(
        (&merged["commits"], &merged["found"][0]),
        (&2.into(), &git(&tree, &["rev-parse", "HEAD"]).into())
    );
    fs::remove_dir_all(tree.join(".git")).unwrap();
    refused(&bisect("HEAD~3..HEAD"), 1, &["in no git tree"]);
}
