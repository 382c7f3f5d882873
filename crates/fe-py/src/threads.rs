//! The threads that Rust computes on.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors::Raise;

/// The process that the threads belong to, and the threads.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// The threads of this process. A process that was forked has none of its parent's, so it gets its
/// own; their number is that of the cores, or `RAYON_NUM_THREADS`.
pub(crate) fn pool() -> PyResult<Arc<ThreadPool>> {
    let mut known = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((owner, pool)) = &*known
        && *owner == process
    {
        return Ok(Arc::clone(pool));
    }
    let pool = ThreadPoolBuilder::new().build().map_err(|e| e.to_string().raise())?;
    let pool = Arc::new(pool);
    // The end of the parent's threads cannot be waited for here, where there are none.
    std::mem::forget(known.replace((process, Arc::clone(&pool))));
    Ok(pool)
}
