//! Archives that are refused, each with its reason, and one that is unpacked.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use koppel_fmi::archive::{Archive, MAX_ENTRIES, MAX_RATIO};
use std::io::{Cursor, Write};
use std::path::Path;
use std::process::Command;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

fn stored() -> SimpleFileOptions {
    SimpleFileOptions::default().compression_method(CompressionMethod::Stored)
}

fn deflated() -> SimpleFileOptions {
    SimpleFileOptions::default().compression_method(CompressionMethod::Deflated)
}

/// A zip with these files.
fn zip_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        writer.start_file(*name, deflated()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn open(bytes: &[u8]) -> Result<Archive<Cursor<&[u8]>>, String> {
    let archive = Archive::new(Path::new("x.fmu"), Cursor::new(bytes), bytes.len() as u64);
    archive.map_err(|error| error.to_string())
}

/// The message with which an archive is refused.
fn refused(bytes: &[u8]) -> String {
    match open(bytes) {
        Ok(_) => "accepted".into(),
        Err(message) => message,
    }
}

/// Overwrites every occurrence of `from`, which has the same length: what a zip library would not write.
fn patch(mut bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let places: Vec<usize> =
        (0..bytes.len() - from.len()).filter(|i| bytes[*i..].starts_with(from)).collect();
    assert!(!places.is_empty());
    for place in places {
        bytes[place..][..to.len()].copy_from_slice(to);
    }
    bytes
}

/// Changes a 16-bit field of every local (at `local`) and central (at `central`) header.
fn patch_headers(mut bytes: Vec<u8>, local: usize, central: usize, value: u16) -> Vec<u8> {
    for i in 0..bytes.len() - 4 {
        let field = match &bytes[i..i + 4] {
            b"PK\x03\x04" => i + local,
            b"PK\x01\x02" => i + central,
            _ => continue,
        };
        bytes[field..][..2].copy_from_slice(&value.to_le_bytes());
    }
    bytes
}

#[test]
fn a_good_archive_is_unpacked_and_removed() {
    let library = vec![7_u8; 300_000];
    let bytes = zip_of(&[
        ("modelDescription.xml", b"<x/>"),
        ("binaries/linux64/model.so", &library),
        ("resources/deep/er/table.txt", b"1 2 3"),
    ]);
    let mut archive = open(&bytes).unwrap();
    assert_eq!(archive.files().count(), 3);
    assert_eq!(archive.read("modelDescription.xml", 100).unwrap().unwrap(), b"<x/>");
    assert!(archive.read("resources", 100).unwrap().is_none());
    let unpacked = archive.unpack().unwrap();
    let folder = unpacked.path().to_owned();
    assert_eq!(std::fs::read(folder.join("binaries/linux64/model.so")).unwrap(), library);
    assert_eq!(std::fs::read(folder.join("resources/deep/er/table.txt")).unwrap(), b"1 2 3");
    drop(unpacked);
    assert!(!folder.exists() && !folder.parent().unwrap().exists());
}

/// Entries as some tools write them: a folder for the archive itself, `./` before names, backslashes.
#[test]
fn names_of_other_tools_are_read() {
    let folder = patch(
        zip_of(&[("xx", b""), ("./modelDescription.xml", b"<x/>"), ("binaries/win64/a.dll", b"1")]),
        b"xx",
        b"./",
    );
    let bytes = patch(folder, b"binaries/win64/a.dll", b"binaries\\win64\\a.dll");
    let mut archive = open(&bytes).unwrap();
    assert_eq!(archive.files().collect::<Vec<_>>(), ["modelDescription.xml", "binaries/win64/a.dll"]);
    assert_eq!(archive.read("binaries/win64/a.dll", 9).unwrap().unwrap(), b"1");
    let unpacked = archive.unpack().unwrap();
    assert_eq!(std::fs::read(unpacked.path().join("binaries/win64/a.dll")).unwrap(), b"1");
}

#[test]
fn what_is_no_zip_is_refused() {
    assert!(refused(b"").contains("the file is empty"));
    assert!(refused(b"<?xml version='1.0'?>").contains("is not a zip archive"));
    let error = Archive::open(Path::new("/nowhere/x.fmu")).unwrap_err().to_string();
    assert!(error.contains("/nowhere/x.fmu") && error.contains("cannot be opened"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    assert!(Archive::open(folder.path()).unwrap_err().to_string().contains("it is a folder"));
}

#[test]
fn every_truncation_is_refused_or_found_on_reading() {
    let bytes = zip_of(&[("modelDescription.xml", b"<some text/>"), ("b", &[1; 100])]);
    for length in 4..bytes.len() {
        let message = refused(&bytes[..length]);
        assert!(message.contains("truncated"), "{length}: {message}");
    }
}

#[test]
fn a_file_that_is_missing_is_named() {
    let bytes = zip_of(&[("a", b"b")]);
    let error = open(&bytes).unwrap().require("modelDescription.xml", 10).unwrap_err();
    assert_eq!(error.to_string(), "`x.fmu`: has no `modelDescription.xml`: not an FMU");
}

#[test]
fn names_that_leave_the_folder_are_refused() {
    for (name, reason) in [
        ("../evil.txt", "`..` leaves the folder"),
        ("a/../../evil", "`..` leaves the folder"),
        ("/etc/passwd1", "an absolute path"),
        ("a\\..\\evil12", "`..` leaves the folder"),
        ("\\evil.txt123", "an absolute path"),
        ("C:evil.dll12", "a colon"),
        ("a\0b.txt12345", "a control character"),
    ] {
        let plain = "x".repeat(name.len());
        let bytes = patch(zip_of(&[(&plain, b"content")]), plain.as_bytes(), name.as_bytes());
        let message = refused(&bytes);
        assert!(message.contains(reason), "{name}: {message}");
    }
}

#[test]
fn links_and_special_files_are_refused() {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.add_symlink("link", "/etc/passwd", stored()).unwrap();
    let bytes = writer.finish().unwrap().into_inner();
    assert!(refused(&bytes).contains("`link` is refused: it is a symbolic link"));
    // The upper half of the external attributes is the Unix mode: 0o120777 becomes 0o010777, a pipe.
    let pipe = patch(bytes, &0o120_777_u16.to_le_bytes(), &0o010_777_u16.to_le_bytes());
    assert!(refused(&pipe).contains("`link` is refused: it is a special file"));
}

#[test]
fn entries_that_meet_are_refused() {
    let twice = patch(zip_of(&[("aaaa", b"1"), ("bbbb", b"2")]), b"bbbb", b"aaaa");
    assert!(refused(&twice).contains("the name `aaaa` occurs twice"));
    assert!(refused(&zip_of(&[("a/B", b"1"), ("A/b", b"2")])).contains("same path"));
    assert!(refused(&zip_of(&[("a/b", b"1"), ("a//b", b"2")])).contains("same path"));
    assert!(refused(&zip_of(&[("a", b"1"), ("a/b", b"2")])).contains("needs a folder"));
}

#[test]
fn bombs_are_refused() {
    let zeros = vec![0_u8; 100 << 20];
    let message = refused(&zip_of(&[("zeros", &zeros)]));
    assert!(message.contains(&format!("more than the limit of {MAX_RATIO}")), "{message}");

    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for i in 0..=MAX_ENTRIES {
        writer.start_file(i.to_string(), stored()).unwrap();
    }
    let bytes = writer.finish().unwrap().into_inner();
    assert!(refused(&bytes).contains("more than the limit of 100000"));

    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file("one", stored()).unwrap();
    writer.write_all(&[5; 1000]).unwrap();
    writer.shallow_copy_file("one", "two").unwrap();
    assert!(refused(&writer.finish().unwrap().into_inner()).contains("share compressed bytes"));

    let bytes = zip_of(&[("big", &[0; 1000])]);
    let error = open(&bytes).unwrap().read("big", 999).unwrap_err().to_string();
    assert!(error.contains("1000 bytes, more than the 999"), "{error}");
}

#[test]
fn an_entry_longer_than_declared_is_found() {
    // 1000 declared as 100 everywhere.
    let bytes = zip_of(&[("big", &[0; 1000])]);
    let bytes = patch(bytes, &1000_u32.to_le_bytes(), &100_u32.to_le_bytes());
    let found =
        open(&bytes).and_then(|mut archive| archive.unpack().map(drop).map_err(|error| error.to_string()));
    let message = found.unwrap_err();
    assert!(message.contains("`big` is damaged"), "{message}");
}

#[test]
fn encryption_and_other_compressions_are_refused() {
    let good = || zip_of(&[("file", b"content")]);
    assert!(refused(&patch_headers(good(), 6, 8, 1)).contains("`file` is encrypted"));
    for method in [9, 12, 14, 93, 95] {
        let message = refused(&patch_headers(good(), 8, 10, method));
        assert!(message.contains("`file` uses the compression method"), "{method}: {message}");
    }
}

#[test]
fn a_flipped_bit_is_found_by_the_check_sum() {
    let mut bytes = zip_of(&[]);
    assert!(open(&bytes).is_ok());
    bytes = {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        writer.start_file("file", stored()).unwrap();
        writer.write_all(b"some content").unwrap();
        writer.finish().unwrap().into_inner()
    };
    let bytes = patch(bytes, b"some content", b"some kontent");
    assert!(open(&bytes).unwrap().unpack().unwrap_err().to_string().contains("`file` is damaged"));
}

/// Run by the next test in its own process: unpacks, says so, and waits to be killed.
#[test]
#[ignore = "run by `what_a_killed_process_leaves_is_removed_by_the_next`"]
fn unpack_and_wait() {
    let bytes = zip_of(&[("modelDescription.xml", b"<x/>")]);
    let unpacked = open(&bytes).unwrap().unpack().unwrap();
    std::fs::write(unpacked.path().join("ready"), "").unwrap();
    if std::env::var_os("KOPPEL_TEST_WAIT").is_some() {
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
}

#[test]
fn what_a_killed_process_leaves_is_removed_by_the_next() {
    let temporary = tempfile::tempdir().unwrap();
    let child = |wait: bool| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "unpack_and_wait", "--ignored"]).env("TMPDIR", temporary.path());
        if wait {
            command.env("KOPPEL_TEST_WAIT", "1");
        }
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let folders = || std::fs::read_dir(temporary.path()).unwrap().count();
    let is_ready = || {
        let mut list = std::fs::read_dir(temporary.path()).unwrap();
        list.any(|entry| entry.unwrap().path().join("fmu/ready").exists())
    };
    let mut first = child(true);
    while !is_ready() {
        assert!(first.try_wait().unwrap().is_none(), "the child must wait");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(child(false).wait().unwrap().success());
    assert_eq!(folders(), 1, "the folder of the living stays");
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(folders(), 1, "a killed process removes nothing");
    assert!(child(false).wait().unwrap().success());
    assert_eq!(folders(), 0);
}

#[test]
fn mutated_archives_never_panic() {
    let edits: u64 = std::env::var("KOPPEL_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(3000);
    let good = zip_of(&[("modelDescription.xml", b"<some text/>"), ("resources/a", &[1; 300]), ("b/", b"")]);
    let (mut opened, mut state) = (0, 1_u64);
    let mut random = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % limit as u64) as usize
    };
    for _ in 0..edits {
        let mut bytes = good.clone();
        for _ in 0..=random(3) {
            let at = random(bytes.len());
            match random(4) {
                0 => bytes.truncate(at.max(1)),
                1 => drop(bytes.splice(at..at, [0, 255])),
                _ => bytes[at] = random(256) as u8,
            }
        }
        if let Ok(mut archive) = open(&bytes) {
            opened += 1;
            let _ = archive.read("modelDescription.xml", 1000);
            let _ = archive.unpack();
        }
    }
    assert!(opened > edits / 20, "edits must leave some archives readable: {opened}");
}
