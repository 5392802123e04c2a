//! The cost of symbols. The tree here "compiles" images that the lab has built before: the longer one where a symbol has its effect, nothing
//! where another is set.

use super::bisect::{git, own_cache};
use super::image;
use crate::bench::{Bench, err, page_of, refused};
use serde_json::Value;
use std::fs;
use std::process::Output;

const MAKEFILE: &str = "\
olddefconfig:
	grep CONFIG_ $(O)/.config | sort -u > $(O)/.new
	grep -q CONFIG_MENU=y $(O)/.new || sed -i /CONFIG_DEAR/d $(O)/.new
	mv $(O)/.new $(O)/.config
bzImage:
	! grep -q CONFIG_BROKEN=y $(O)/.config
	mkdir -p $(O)/arch/x86/boot
	if grep -q CONFIG_DEAR=y $(O)/.config; then cp long $(O)/arch/x86/boot/bzImage; else cp short $(O)/arch/x86/boot/bzImage; fi
";

const HEAD: &str = "# Linux/x86 6.1.192 Kernel Configuration\nCONFIG_X86_64=y\n";

#[test]
#[ignore = "second tier: QEMU and kernels"]
fn the_symbol_of_twelve_that_is_dear_is_named_with_its_instructions() {
    let bench = Bench::new();
    let cache = own_cache(&bench);
    let tree = bench.store().with_file_name("linux");
    fs::create_dir(&tree).unwrap();
    fs::write(
        tree.join("Makefile"),
        MAKEFILE.replace("cp long", "cp $(CURDIR)/long").replace("cp short", "cp $(CURDIR)/short"),
    )
    .unwrap();
    for (name, kernel) in [("short", "x86_64:hz=1000"), ("long", "x86_64:hz=1000:osnoise=on")] {
        fs::copy(image(kernel), tree.join(name)).unwrap();
    }
    git(&tree, &["init", "--quiet"]);
    git(&tree, &["add", "."]);
    git(&tree, &["commit", "--quiet", "-m", "images"]);
    let names = ["A1", "A2", "A3", "A4", "DEAR", "K1", "K2", "MENU", "P1", "P2", "P3", "P4"];
    let file = |name: &str, symbols: &[&str]| {
        let path = bench.store().with_file_name(name);
        let lines: String = symbols.iter().map(|symbol| format!("CONFIG_{symbol}=y\n")).collect();
        fs::write(&path, format!("{HEAD}{lines}")).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (first, second) = (file("first", &[]), file("second", &names));
    let costs = |arguments: &[&str]| -> Output {
        let place = tree.to_str().unwrap();
        let all = [&["lab", "config-cost"], arguments, &["--tree", place, "--format", "json"]].concat();
        bench.command(&all).env("XDG_CACHE_HOME", &cache).output().unwrap()
    };
    let ended = costs(&[&first, &second, "syscall.signal.handle"]);
    assert!(err(&ended).contains("12 symbols to tell apart: 2 to 13 kernels, each built"), "{}", err(&ended));
    let model = page_of(&ended.stdout);
    let symbols = |of: &Value| -> Vec<String> {
        of.as_array().unwrap().iter().map(|symbol| symbol["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(symbols(&model["symbols"]), names);
    // It has its effect with the symbol that it depends on, which comes later.
    let [step] = &model["steps"].as_array().unwrap()[..] else { panic!("{model}") };
    assert_eq!(symbols(&step["symbols"]), ["DEAR", "MENU"]);
    let [before, after] = [0, 1].map(|at| model["instructions"][at].as_f64().unwrap());
    assert_eq!(step["cost"].as_f64().unwrap(), after - before);
    assert!((60.0..75.0).contains(&(after - before)), "{before} {after}");
    assert!(model["measured"].as_u64().unwrap() <= 6, "{model}");
    let functions = model["functions"].as_array().unwrap();
    assert!(functions.iter().any(|one| one["name"] == "uprobe_deny_signal"), "{functions:?}");
    assert_eq!(fs::read_dir(cache.join("tickmark/commits")).unwrap().count(), 0);
    // What is measured is taken up: only the functions are counted once more.
    let boots = || fs::read_dir(bench.store().join("recordings")).unwrap().count();
    let made = boots();
    let again = page_of(&costs(&[&first, &second, "syscall.signal.handle"]).stdout);
    assert_eq!((&again["steps"], boots()), (&model["steps"], made + 2));
    // One that does not compile is gone round, and said.
    let broken = file("broken", &["BROKEN", "DEAR", "MENU"]);
    let ended = costs(&[&first, &broken, "syscall.signal.handle"]);
    assert!(ended.status.code() == Some(1) && err(&ended).contains("was not built"), "{}", err(&ended));
    let around = file("around", &["DEAR", "MENU"]);
    fs::write(&around, format!("{}# CONFIG_BROKEN is not set\n", fs::read_to_string(&around).unwrap()))
        .unwrap();
    fs::write(&first, format!("{HEAD}CONFIG_A1=y\n")).unwrap();
    let model = page_of(&costs(&[&first, &around, "syscall.signal.handle", "--each"]).stdout);
    assert_eq!((&model["configurations"], &model["measured"]), (&5.into(), &5.into()), "{model}");
    // The same, another processor, and what is no configuration.
    let same = page_of(&costs(&[&first, &first, "syscall.null"]).stdout);
    assert!(same["answer"].as_str().unwrap().contains("the same configuration"), "{same}");
    refused(&costs(&[&first, "arm64", "syscall.null"]), 2, &["must be for the same architecture"]);
    // An agent that there is not, before anything is built.
    let other = costs(&["powerpc", "powerpc:hz=100", "syscall.null", "--agent", "rust"]);
    refused(&other, 2, &["give agent c on powerpc"]);
    fs::remove_dir_all(tree.join(".git")).unwrap();
    refused(&costs(&[&first, &second, "syscall.null"]), 1, &["in no git tree"]);
    let makefile = tree.join("Makefile");
    refused(&costs(&[&first, makefile.to_str().unwrap(), "syscall.null"]), 2, &["no kernel's configuration"]);
}
