//! The quick form of every paper: exhibits are whole, files are there, and what the papers print comes out where it must.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;

use koppel_papers::{Control, Error, Exhibit, Options, Paper, Verdict, reproduce};

fn quick(paper: Paper) -> (tempfile::TempDir, Vec<Exhibit>) {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { is_quick: true, threads: 0, out: folder.path().join("out") };
    let outcome = reproduce(&[paper], &options, &mut |_| Control::Continue).unwrap();
    assert!(!outcome.is_stopped);
    let (_, exhibits) = outcome.papers.into_iter().next().unwrap();
    check(&options.out, paper, &exhibits);
    (folder, exhibits)
}

/// Every exhibit has data and a picture or a comparison, every file is there, and a difference has a reason.
fn check(out: &Path, paper: Paper, exhibits: &[Exhibit]) {
    let summary: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(out.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary["status"], "finished");
    let listed = summary["papers"][0]["exhibits"].as_array().unwrap();
    assert_eq!(listed.len(), exhibits.len());
    let page = std::fs::read_to_string(out.join(paper.name()).join("index.html")).unwrap();
    for (exhibit, report) in exhibits.iter().zip(listed) {
        assert!(!exhibit.how.is_empty() && page.contains(&exhibit.number), "{}", exhibit.number);
        assert!(!(exhibit.data.is_empty() && exhibit.comparisons.is_empty()), "{} is empty", exhibit.number);
        for file in report["files"].as_array().unwrap() {
            let path = out.join(paper.name()).join(file.as_str().unwrap());
            assert!(std::fs::metadata(&path).unwrap().len() > 5, "{}", path.display());
        }
        for (name, columns) in &exhibit.data {
            assert!(!columns.is_empty(), "{}: {name}", exhibit.number);
        }
    }
    assert!(std::fs::read_to_string(out.join("index.html")).unwrap().contains("summary"));
}

fn verdict(exhibits: &[Exhibit], number: &str) -> Verdict {
    let numbers: Vec<&str> = exhibits.iter().map(|e| e.number.as_str()).collect();
    let found = exhibits.iter().find(|e| e.number == number);
    found.unwrap_or_else(|| panic!("no {number} in {numbers:?}")).verdict()
}

fn all_agree(exhibits: &[Exhibit], numbers: &[&str]) {
    for number in numbers {
        assert_eq!(verdict(exhibits, number), Verdict::Agrees, "{number}");
    }
}

#[test]
fn glumac_and_kovacic() {
    let (_folder, exhibits) = quick(Paper::Glumac);
    all_agree(&exhibits, &["(63), (64)", "Figure 4", "Figure 6"]);
    assert_eq!(verdict(&exhibits, "Figure 2"), Verdict::NotDescribed);
    assert_eq!(exhibits.len(), 9);
}

#[test]
fn kuebler_and_schiehlen() {
    let (_folder, exhibits) = quick(Paper::Kuebler);
    all_agree(&exhibits, &["Figure 9", "Figure 11", "Figure 12"]);
    assert_eq!(exhibits.len(), 4);
}

#[test]
fn chen() {
    let (_folder, exhibits) = quick(Paper::Chen);
    all_agree(&exhibits, &["Figure 5", "Figure 8", "Figure 10", "Figure 12", "Figure 14"]);
    assert_eq!(exhibits.len(), 13);
}

#[test]
fn genser_and_benedikt() {
    let (_folder, exhibits) = quick(Paper::GenserBenedikt);
    all_agree(&exhibits, &["Figure 9"]);
    assert_eq!(exhibits.len(), 4);
}

#[test]
fn genser() {
    let (folder, exhibits) = quick(Paper::Genser);
    all_agree(&exhibits, &["Figures 3.17, 3.18", "Figures 3.6 to 3.11", "Figure 4.26"]);
    for number in [
        "Table 3.4, Figure 3.4",
        "Table 3.5",
        "Table 3.10, Figure 3.19",
        "Table 3.11, Figure 3.29",
        "Table 3.12",
        "Table 3.13",
    ] {
        verdict(&exhibits, number);
    }
    // Studies are not made again.
    let log = folder.path().join("out/genser/studies/exact-quick/runs.log");
    let before = std::fs::read(&log).unwrap();
    let options = Options { is_quick: true, threads: 0, out: folder.path().join("out") };
    let mut is_past = false;
    let outcome = reproduce(&[Paper::Genser], &options, &mut |progress| {
        is_past |= progress.stage.contains("RLS");
        if is_past { Control::Stop } else { Control::Continue }
    });
    let outcome = outcome.unwrap();
    assert!(outcome.is_stopped && outcome.papers[0].1.len() >= 7, "the finished stage is kept");
    assert!(std::fs::read(&log).unwrap() == before, "its log has grown");
}

#[test]
fn a_folder_of_somebody_else_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("thesis.txt"), "mine").unwrap();
    let options = Options { is_quick: true, threads: 1, out: folder.path().into() };
    let error = reproduce(&[Paper::Glumac], &options, &mut |_| Control::Continue).unwrap_err();
    assert!(matches!(error, Error::Occupied { .. }), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn no_difference_is_without_a_reason() {
    for paper in [Paper::Glumac, Paper::Kuebler, Paper::GenserBenedikt] {
        for exhibit in quick(paper).1 {
            assert!(
                !exhibit.verdict().words().contains("not known"),
                "{}: {}",
                exhibit.number,
                exhibit.verdict().words()
            );
        }
    }
}
