use super::*;

fn whole(text: &str) -> Result<ExperimentFile, String> {
    parse(text, Length::Whole)
}

fn turned(text: &str) -> experiment::ExperimentRequest {
    match whole(text).unwrap() {
        ExperimentFile::Here(requested) => *requested,
        ExperimentFile::Booted(requested) => panic!("{} boots", requested.name),
        ExperimentFile::Launched(requested) => panic!("{} launches", requested.name),
    }
}

fn matrix(text: &str) -> lab::MatrixRequest {
    match whole(text).unwrap() {
        ExperimentFile::Booted(requested) => requested,
        ExperimentFile::Here(_) => panic!("it turns a knob"),
        ExperimentFile::Launched(requested) => panic!("{} launches", requested.name),
    }
}

#[test]
fn a_file_with_everything_that_is_turned_here() {
    let request = turned(
        r#"
        name = "swap"
        blocks = 6
        budget = "5min"
        width = "0.5%"
        probes = ["clock", "syscall.null"]
        knob = "swappiness"
        get = "echo 10"

        [[setting]]
        name = "10"
        set = "echo 10"
        reset = "true"

        [[setting]]
        name = "60"
        set = "echo 60"
        reset = "echo back"

        [[command]]
        name = "requests"
        run = "echo Requests/sec: 5"
        after = "Requests/sec:"
        better = "higher"
        "#,
    );
    assert_eq!(
        (request.knob.name.as_str(), request.knob.settings.len(), request.blocks),
        ("swappiness", 2, Some(6))
    );
    assert_eq!((request.width, request.outcomes[0].better), (Some(0.005), Better::Higher));
    assert_eq!(request.outcomes[0].take, OutcomeSource::After("Requests/sec:".to_owned()));
}

#[test]
fn what_is_wrong_with_a_knob_is_said_with_its_line() {
    let wrong = |text: &str| whole(text).map(|_| ()).unwrap_err();
    let knob = |rest: &str| wrong(&format!("knob = \"slack=1ns,50us\"\n{rest}"));
    assert!(knob("block = 5").contains("line 2"), "{}", knob("block = 5"));
    assert!(knob("[[command]]\nname=\"a\"\nrun=\"b\"\nbetter=\"hihger\"").contains("lower or higher"));
    assert!(wrong("knob = \"slack=1ns\"").contains("one setting"));
    assert!(knob("[[setting]]\nset=\"true\"\nreset=\"true\"").contains("missing field `name`"));
    assert!(knob("[[setting]]\nname=\"\"").contains("empty name"));
    assert!(wrong("probes = []").contains("nothing is turned"));
    let unpaired = "[[setting]]\nname=\"a\"\nset=\"b\"\n[[setting]]\nname=\"c\"";
    assert!(wrong(&format!("knob=\"k\"\n{unpaired}")).contains("no reset"));
    assert!(knob("blocks = 1").contains("2 to 1000"));
    assert!(knob("width = \"much\"").contains("width"));
    assert!(knob("[[command]]\nname=\"a\"\nrun=\"b\"\ntime=true\nafter=\"c\"").contains("not both"));
    assert!(knob("speeds = [250]").contains("speeds is for boots"));
    assert!(knob("get = \"echo\"").contains("no [[setting]]"));
    assert!(wrong("knob=\"k\"\n[[setting]]\nname=\"a\"\nkernel=\"hz=100\"").contains("kernel of a setting"));
}

const LEAST: &str = "name = \"x\"\n[[setting]]\nname = \"a\"\nkernel = \"hz=100\"\n[[setting]]\nname = \"b\"\n\
                     kernel = \"hz=1000\"\n[[machine]]\nname = \"m\"\nkernel = \"powerpc\"\nagent = \"c\"\n";

#[test]
fn what_a_matrix_does_not_say_has_a_default() {
    let request = matrix(LEAST);
    assert_eq!((request.blocks, request.slice, request.settings.len()), (5, SLICE, 2));
    assert_eq!((&request.machines[0].speeds[..], request.machines[0].blocks), (&[62.5][..], Some(5)));
    assert_eq!([1000.0, 500.0, 250.0, 62.5].map(lab::shift), [Some(0), Some(1), Some(2), Some(4)]);
}

#[test]
fn every_experiment_that_comes_with_it_is_one() {
    let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments")).unwrap();
    assert_eq!(folder.count(), SHIPPED.len());
    for (name, text) in SHIPPED {
        assert!(is_named(name) && read(Path::new(name)).is_ok());
        let named = match whole(text).unwrap() {
            ExperimentFile::Booted(requested) => requested.name,
            ExperimentFile::Launched(requested) => requested.name,
            // What turns a knob answers a document, too.
            ExperimentFile::Here(requested) => {
                assert!(requested.answers.is_some() && requested.report == [Report::Ministat], "{name}");
                requested.name.unwrap()
            }
        };
        assert_eq!(named, name);
    }
    assert!(read(Path::new("tick-100")).unwrap_err().to_string().contains("clock-tick-100-vs-1000"));
}

#[test]
fn what_is_wrong_with_a_matrix_is_said() {
    let wrong = |from: &str, to: &str| whole(&LEAST.replacen(from, to, 1)).map(|_| ()).unwrap_err();
    assert!(wrong("name = \"b\"", "name = \"a\"").contains("twice"));
    assert!(wrong("agent = \"c\"", "agent = \"d\"").contains("line 11"));
    assert!(wrong("agent = \"c\"", "speeds = [100.0]").contains("62.5"));
    assert!(wrong("name = \"x\"", "name = \"x\"\nblocks = 1").contains("2 to 1000"));
    assert!(wrong("agent = \"c\"", "blocks = 1").contains("2 to 1000"));
    assert!(wrong("name = \"x\"", "name = \"x\"\nknob = \"slack=1ns,50us\"").contains("knob is for"));
    assert!(wrong("kernel = \"hz=1000\"", "set = \"true\"").contains("set of a setting"));
    assert!(wrong("kernel = \"hz=1000\"", "write = { \"/a\" = \"b\" }").contains("append"));
    assert!(wrong("[[setting]]\nname = \"b\"\nkernel = \"hz=1000\"\n", "").contains("two [[setting]]"));
    assert!(wrong("name = \"x\"\n", "").contains("has a name"));
}

#[test]
fn a_short_form_has_what_it_says_and_the_rest_of_the_whole() {
    let quick = |more: &str| {
        parse(&LEAST.replacen("[[setting]]", &format!("[quick]\n{more}\n[[setting]]"), 1), Length::Quick)
    };
    let ExperimentFile::Booted(short) = quick("blocks = 2\nslice = \"7ms\"\nprobes = [\"tick\"]").unwrap()
    else {
        panic!("it does not boot")
    };
    assert_eq!((short.machines[0].blocks, short.slice), (Some(2), Nanos::from_millis(7)));
    assert!(short.machines.iter().all(|machine| machine.probes == ["tick"]));
    assert!(quick("machines = [\"nosuch\"]").unwrap_err().contains("nosuch"));
    assert!(quick("settings = [\"nosuch\"]").unwrap_err().contains("nosuch"));
    assert!(parse(LEAST, Length::Quick).unwrap_err().contains("[quick]"));
    for (name, text) in SHIPPED.iter().filter(|(_, text)| text.contains("[quick]")) {
        assert!(parse(text, Length::Quick).is_ok(), "{name}");
    }
}

#[test]
fn messages_are_launched_and_nothing_is_turned() {
    let text = "name = \"m\"\nreport = [\"messages\"]\nbudget = \"20s\"\nprobes = [\"comms:sizes=1\"]\n";
    let ExperimentFile::Launched(requested) = whole(text).unwrap() else { panic!("it does not launch") };
    assert_eq!(
        (requested.launches, requested.budget, requested.probes.len()),
        (3, Nanos::from_millis(20_000), 1)
    );
    let wrong = |more: &str| whole(&format!("{more}\n{text}")).map(|_| ()).unwrap_err();
    assert!(wrong("slice = \"1ms\"").contains("nothing is turned"));
    let without = |line: &str| whole(&text.replace(line, "")).map(|_| ()).unwrap_err();
    assert!(without("budget = \"20s\"\n").contains("how long"));
    assert!(without("probes = [\"comms:sizes=1\"]\n").contains("name what is measured"));
}
