//! System files, results and reports.
