//! The process that watches another.

use super::memory::{Direction, Memory};
use super::stream::{Reader, Writer};
use super::{Kind, Known, MARK};
use crate::ffi::{Calls, call_name};
use crate::isolate::{Ending, FAREWELL, Process};
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often the supervisor looks for rows when nothing wakes it.
const LOOK: Duration = Duration::from_millis(10);

/// The file of the running program, whatever has become of its name.
const SELF: &str = "/proc/self/exe";

/// A process that is watched.
pub struct Supervisor {
    memory: Arc<Memory>,
    process: Process,
    reader: Reader,
    writer: Writer,
    instances: HashMap<u64, Known>,
    /// What each thread was found in, and since when.
    found: Vec<Found>,
    /// The limit in s of the call for which the process was ended.
    overdue: Option<f64>,
    values: Vec<f64>,
    aside: Option<Vec<u8>>,
}

/// What a thread was found in.
struct Found {
    call: u64,
    count: u64,
    since: Instant,
}

/// What has come from the supervised process.
#[derive(Debug)]
pub enum Event<'a> {
    /// A row, with what was sent before it and belongs to it.
    Row(f64, &'a [f64], Option<Vec<u8>>),
    /// A request, which is to be answered by [`Supervisor::reply`].
    Request(Vec<u8>),
    /// A number and bytes that need no answer.
    Note(u64, Vec<u8>),
    /// Nothing for a moment.
    Nothing,
    /// It is no more, and everything it had passed on was taken.
    Ended(Ending),
}

/// A call into an FMU that is running.
#[derive(Clone, Debug, PartialEq)]
pub struct Whereabouts {
    /// Name of the instance, if it has told it.
    pub instance: Option<String>,
    /// The function.
    pub call: &'static str,
    /// The time of its newest step, if there was one.
    pub time: Option<f64>,
}

impl Supervisor {
    /// Starts the running program once more, with `argument`, the number of this process and then `rest` as its arguments; it must call
    /// [`super::begin`]. Standard output and standard error are those of this process.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub fn start(argument: &str, rest: impl IntoIterator<Item = OsString>) -> io::Result<Supervisor> {
        let memory = Arc::new(Memory::create()?);
        // By its name if it still has one: tools that follow processes, such as valgrind, need it.
        let name = std::fs::read_link(SELF).ok().filter(|name| name.exists());
        let mut command = Command::new(name.unwrap_or_else(|| SELF.into()));
        command.arg(argument).arg(std::process::id().to_string()).args(rest);
        command.stdin(Stdio::from(memory.file()?)).env(MARK, std::process::id().to_string());
        std::env::args_os().next().into_iter().for_each(|own| _ = command.arg0(own));
        // What an FMU starts and leaves behind becomes a child of this process, which ends it.
        let _ = rustix::process::set_child_subreaper(rustix::process::Pid::from_raw(1));
        Ok(Supervisor {
            process: Process::of(&mut command)?,
            reader: Reader::new(memory.clone(), Direction::Up),
            writer: Writer::new(memory.clone(), Direction::Down),
            memory,
            instances: HashMap::new(),
            found: Vec::new(),
            overdue: None,
            values: Vec::new(),
            aside: None,
        })
    }

    /// What comes next; waits for it a few milliseconds.
    pub fn event(&mut self) -> Event<'_> {
        let mut ending = None;
        loop {
            let (kind, number, bytes) = match self.reader.next() {
                Ok(Some(frame)) if frame.kind == Kind::Row => {
                    let Ok(time) = frame.numbers(&mut self.values) else { return self.damaged() };
                    return Event::Row(time, &self.values, self.aside.take());
                }
                Ok(Some(frame)) => {
                    let Ok((number, bytes)) = frame.bytes() else { return self.damaged() };
                    (frame.kind, number, bytes)
                }
                Ok(None) => match (ending, self.process.ended()) {
                    (Some(ending), _) => {
                        let how = self.memory.calls().iter().fold(ending, |how, calls| calls.explain(how));
                        return Event::Ended(self.overdue.map_or(how, Ending::Hung));
                    }
                    // Whatever it wrote before it ended is visible from now on.
                    (None, Some(how)) => {
                        ending = Some(how);
                        continue;
                    }
                    (None, None) => {
                        self.reader.wait(LOOK);
                        self.end_overdue_call();
                        return Event::Nothing;
                    }
                },
                Err(_) => return self.damaged(),
            };
            match kind {
                Kind::Name => match serde_json::from_slice(&bytes) {
                    Ok(known) => _ = self.instances.insert(number, known),
                    Err(_) => return self.damaged(),
                },
                Kind::Aside => self.aside = Some(bytes),
                Kind::Request => return Event::Request(bytes),
                Kind::Note => return Event::Note(number, bytes),
                Kind::Reply | Kind::Row => return self.damaged(),
            }
        }
    }

    /// Ends the process if a call takes longer than it may.
    fn end_overdue_call(&mut self) {
        let instances = &self.instances;
        let limit = |calls: &Calls| instances.get(&calls.instance.load(Ordering::Relaxed))?.limit;
        let calls = self.memory.calls();
        self.found.resize_with(calls.len(), || Found { call: 0, count: 0, since: Instant::now() });
        for (calls, found) in calls.iter().zip(&mut self.found) {
            let (call, count) = (calls.last.load(Ordering::Relaxed), calls.count.load(Ordering::Relaxed));
            if (call, count) != (found.call, found.count) || call == 0 {
                *found = Found { call, count, since: Instant::now() };
            } else if let Some(limit) =
                limit(calls).filter(|limit| found.since.elapsed().as_secs_f64() > *limit)
            {
                self.overdue = Some(limit);
                self.process.kill();
            }
        }
    }

    fn damaged(&self) -> Event<'_> {
        let how = self.process.ended().unwrap_or(Ending::Damaged);
        self.kill();
        Event::Ended(how)
    }

    /// Answers the newest request.
    pub fn reply(&mut self, bytes: &[u8]) {
        self.writer.bytes(Kind::Reply, 0, bytes);
    }

    /// The next row of the supervised process tells it that rows cannot be written.
    pub fn report_trouble(&self) {
        self.memory.control().has_trouble.store(1, Ordering::Relaxed);
    }

    /// Asks the supervised process to end its run in good order.
    pub fn ask_to_end(&self) {
        self.memory.control().asked.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends the supervised process at once.
    pub fn kill(&self) {
        self.process.kill();
    }

    /// Waits until the supervised process, which has nothing left to do, has ended. What takes too long, such as a destructor of an FMU that hangs, is
    /// ended.
    pub fn wait(&mut self) {
        self.process.wait();
        if self.process.ended().is_none() {
            self.overdue = Some(FAREWELL.as_secs_f64());
            self.process.kill();
        }
    }

    /// True if an FMU was instantiated.
    #[must_use]
    pub fn has_seen_fmus(&self) -> bool {
        !self.instances.is_empty()
    }

    /// Removes what the supervised process could not remove: its children, and the files of FMUs it had unpacked.
    pub fn clean_up(self) {
        drop(self);
        crate::archive::remove_left_behind();
    }

    /// The calls that are running, at most one in each thread of the supervised process.
    #[must_use]
    pub fn whereabouts(&self) -> Vec<Whereabouts> {
        let begun = self.memory.calls().iter().filter_map(|calls: &Calls| {
            let call = call_name(calls.last.load(Ordering::Relaxed))?;
            let instance = self.instances.get(&calls.instance.load(Ordering::Relaxed));
            let instance = instance.map(|known| known.name.clone());
            Some(Whereabouts { instance, call, time: calls.time() })
        });
        begun.collect()
    }
}

impl Drop for Supervisor {
    /// No process that an FMU has started and left behind survives.
    fn drop(&mut self) {
        self.process.kill();
        let own = std::process::id();
        crate::isolate::end_children_with(&format!("{MARK}={own}"));
    }
}
