//! `koppel papers`: the quick form of one paper, and what is refused.

mod common;

use common::Folder;

#[test]
fn one_paper_quickly() {
    let folder = Folder::new();
    let said = folder.succeed(&["papers", "glumac", "--quick", "--out", "again"]);
    said.says(&["Glumac & Kovacic 2018", "exhibits 9", "reduced  Figure 3", "again: index.html"]);
    for file in
        ["index.html", "summary.json", "summary.md", "glumac/index.html", "glumac/figure-6-frontier.csv"]
    {
        assert!(folder.path(&format!("again/{file}")).is_file(), "{file}");
    }
    // The same folder may be used again, and tells JSON.
    let said = folder.succeed(&["papers", "glumac", "--quick", "--out", "again", "--json"]);
    said.says(&["\"made_by\": \"koppel papers\"", "\"paper\": \"glumac\""]);
}

#[test]
fn unknown_papers_and_folders_that_cannot_be_used() {
    let folder = Folder::new();
    let said = folder.run(&["papers", "glumak"]);
    said.errs_with(&["glumak", "glumac", "kuebler"]);
    std::fs::create_dir(folder.path("mine")).unwrap();
    folder.write("mine/notes.txt", "mine");
    folder.run(&["papers", "glumac", "--quick", "--out", "mine"]).errs_with(&[
        "mine",
        "was not written by",
        "--out",
    ]);
    folder.write("file", "a file");
    folder.run(&["papers", "glumac", "--quick", "--out", "file/below"]).errs_with(&["cannot create", "file"]);
}
