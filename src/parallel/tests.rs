use super::*;

#[test]
fn one_value_is_for_the_thread_that_calls() {
    let own = std::thread::current().id();
    let here = |values: usize| {
        let values = PerThread::new(values, || 0);
        let same = map(1 << 10, |_| AtomicBool::new(false));
        values.for_each(same.len(), |i, value| {
            *value += 1;
            same[i].store(std::thread::current().id() == own, Ordering::Relaxed);
        });
        same.iter().filter(|same| same.load(Ordering::Relaxed)).count()
    };
    assert_eq!((here(1), here(2)), (1 << 10, 0), "this thread is not of the pool");
}

/// Else a task of the inner loop that a thread takes while it waits could want the same value.
#[test]
#[cfg(debug_assertions)]
fn work_is_not_divided_while_a_value_is_held() {
    let values = PerThread::new(2, || 0);
    let divided = std::panic::AssertUnwindSafe(|| values.with(|_| each(2, &|_| ())));
    assert!(std::panic::catch_unwind(divided).is_err());
    each(2, &|_| ());
    values.with(|_| each(1, &|_| ()));
}

#[test]
fn each_item_is_worked_on_once() {
    for count in [0, 1, 2, 7, 1000, 5000] {
        let (mut a, mut b) = (vec![0u32; count], vec![0u8; count * 3]);
        let c: Vec<usize> = (0..count * 2).collect();
        for_each((each_mut(&mut a), chunks_mut(&mut b, 3), chunks(&c, 2)), |i, (a, b, c)| {
            *a += i as u32 + 1;
            b.iter_mut().for_each(|b| *b += 1);
            assert_eq!(c, [2 * i, 2 * i + 1]);
        });
        assert!(a.iter().zip(1..).all(|(&a, i)| a == i));
        assert!(b.iter().all(|&b| b == 1));
    }
}

#[test]
fn lists_of_unlike_lengths_end_with_the_shortest() {
    let (mut a, mut b) = ([0; 7], [0; 5]);
    for_each((chunks_mut(&mut a, 2), each_mut(&mut b)), |i, (a, b)| {
        a.fill(i + 1);
        *b = a.len();
    });
    assert_eq!(a, [1, 1, 2, 2, 3, 3, 4]);
    assert_eq!(b, [2, 2, 2, 1, 0]);
}

#[test]
fn results_are_in_order() {
    for count in [0, 1, 33, 10_000] {
        assert_eq!(
            map(count, |i| i.to_string()),
            (0..count).map(|i| i.to_string()).collect::<Vec<_>>()
        );
    }
    assert_eq!(map_blocks(10, 4, |range| range), [0..4, 4..8, 8..10]);
}

#[test]
fn the_first_is_found_whichever_comes_first() {
    let of = |i: usize| (i % 1000 == 999).then_some(i);
    assert_eq!(first(100_000, of), Some(999));
    assert_eq!(first(999, of), None);
    assert_eq!(first(0, of), None);
}

#[test]
fn lists_are_concatenated_in_order() {
    let lists: Vec<Vec<usize>> =
        (0..300).map(|k| (0..k % 7).map(|i| 10 * k + i).collect()).collect();
    assert_eq!(concat(&lists), lists.concat());
    assert_eq!(concat::<u8>(&[]), [0; 0]);
}

#[test]
fn a_watch_is_called_between_reports_and_stops_the_work() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    // In the pool: reports alone, on the same thread.
    let mut seen = Vec::new();
    let flow = pool.install(|| {
        let mut watch = |progress: &u32| {
            seen.push(*progress);
            ControlFlow::Continue(())
        };
        watched(0, &mut watch, |report, _| report(1))
    });
    assert_eq!((flow, seen), (ControlFlow::Continue(()), vec![1]));
    // Outside: the work reports once, and the watch breaks while it goes on.
    let (own, mut seen) = (std::thread::current().id(), Vec::new());
    let mut watch = |progress: &u32| {
        assert_eq!(std::thread::current().id(), own);
        seen.push(*progress);
        match seen[..] {
            [.., 1, 1, 1] => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    };
    let flow = watched(0, &mut watch, |report, stops| {
        assert!(std::thread::current().id() != own && report(1).is_continue());
        while !stops.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        report(2)
    });
    assert!(flow.is_break() && !seen.contains(&2));
    // Many reports do not wait for the watch.
    let mut calls = 0;
    let mut count = |_: &u32| {
        calls += 1;
        ControlFlow::Continue(())
    };
    let begun = Instant::now();
    assert!(watched(0, &mut count, |report, _| (0..100_000).all(|k| report(k).is_continue())));
    let most = FIRST_REPORTS + begun.elapsed().div_duration_f64(WATCH_EVERY) as usize * 2 + 2;
    assert!((FIRST_REPORTS..=most).contains(&calls), "{calls} calls");
    let panics = || watched(0, &mut |_: &u32| panic!("watch"), |report, _| report(1));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
}

#[test]
fn a_panic_reaches_the_caller() {
    let work = || map(100, |i| if i == 60 { panic!("sixty") } else { vec![i] });
    assert!(std::panic::catch_unwind(work).is_err());
}

#[test]
fn ranges_cover_every_number_once() {
    for (threads, most, least_tasks) in [(1, 4, 26), (2, 4, 26), (3, 100, 12), (64, 4, 101)] {
        let values = PerThread::new(threads, || ());
        let seen: Vec<AtomicUsize> = (0..101).map(|_| AtomicUsize::new(0)).collect();
        let tasks = AtomicUsize::new(0);
        values.for_each_range(seen.len(), most, |range, ()| {
            assert!((1..=most).contains(&range.len()));
            tasks.fetch_add(1, Ordering::Relaxed);
            seen[range].iter().for_each(|seen| _ = seen.fetch_add(1, Ordering::Relaxed));
        });
        assert!(seen.iter().all(|seen| seen.load(Ordering::Relaxed) == 1));
        assert!(tasks.into_inner() >= least_tasks, "{threads} threads");
    }
}
