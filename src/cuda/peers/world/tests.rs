use super::meet::receive_all;
use super::*;
use std::net::TcpListener;
use std::thread::{self, sleep};

/// Returns a rendezvous, of which rank 0 already has the port.
fn place(size: usize) -> (TcpListener, impl Fn(usize) -> WorldOptions) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let patience = Duration::from_secs(1);
    (listener, move |rank| WorldOptions::new(rank, size, &address).unwrap().patience(patience))
}

/// Returns the results of `body` on every rank, each on its own thread.
fn on_all<V: Send>(
    size: usize,
    body: impl Fn(usize, Result<World, WorldError>) -> V + Sync,
) -> Vec<V> {
    let (listener, options) = place(size);
    let join = |rank| {
        let options = options(rank);
        if rank > 0 {
            return World::join(&options);
        }
        let (streams, hosts) = receive_all(&listener, &options)?;
        World::of(&options, streams, hosts)
    };
    let (join, body) = (&join, &body);
    thread::scope(|scope| {
        let ranks: Vec<_> =
            (0..size).map(|rank| scope.spawn(move || body(rank, join(rank)))).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

#[test]
fn ranks_meet_and_gather_in_order() {
    for size in [1, 2, 5] {
        let seen = on_all(size, |rank, world| {
            let world = world.unwrap();
            assert_eq!((world.rank(), world.size(), world.hosts()), (rank, size, 1));
            assert_eq!(world.local_rank(), rank);
            (0..20).map(|turn| world.gather("squares", &(turn + rank * rank)).unwrap()).collect()
        });
        let want: Vec<Vec<usize>> =
            (0..20).map(|turn| (0..size).map(|rank| turn + rank * rank).collect()).collect();
        assert!(seen.iter().all(|seen: &Vec<Vec<usize>>| *seen == want), "{seen:?}");
    }
}

#[test]
fn disagreements_are_named_on_every_rank() {
    let errors = on_all(3, |rank, world| {
        let world = world.unwrap();
        let bins = |ny: usize| [("precision", "f32".to_owned()), ("bins", format!("64 x {ny}"))];
        world.agree(&bins(8)).unwrap();
        world.agree(&bins(if rank == 2 { 16 } else { 8 })).unwrap_err().to_string()
    });
    for error in errors {
        assert_eq!(error, "ranks disagree: bins is 64 x 8 on rank 0 and 64 x 16 on rank 2");
    }
}

#[test]
fn a_rank_that_is_absent_is_named() {
    let (listener, options) = place(3);
    let start = Instant::now();
    let other = options(2);
    let other = thread::spawn(move || World::join(&other).err().unwrap());
    let own = receive_all(&listener, &options(0)).err().unwrap();
    assert_eq!(other.join().unwrap(), own);
    let address = listener.local_addr().unwrap();
    assert_eq!(own.to_string(), format!("rank 1 of 3 has not come to {address} within 1 s"));
    // No rank listens any more.
    drop(listener);
    let alone = World::join(&options(1)).err().unwrap();
    assert_eq!(alone.to_string(), format!("rank 0 of 3 has not come to {address} within 1 s"));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn ranks_with_other_rank_counts_are_refused() {
    let (listener, options) = place(2);
    let own = options(0);
    let address = listener.local_addr().unwrap().to_string();
    // Other connections send nothing, or nonsense: neither keeps ranks from connecting.
    let _silent = TcpStream::connect(&address).unwrap();
    std::io::Write::write_all(&mut TcpStream::connect(&address).unwrap(), b"GET / HTTP/1.1\r\n")
        .unwrap();
    let other = thread::spawn(move || {
        let of_three = WorldOptions::new(2, 3, &address).unwrap();
        World::join(&of_three).err().unwrap()
    });
    let error = receive_all(&listener, &own.patience(Duration::from_secs(5))).err().unwrap();
    assert_eq!(error.to_string(), "ranks disagree: rank 2 counts 3 ranks, rank 0 2");
    assert_eq!(other.join().unwrap(), error);
}

#[test]
fn two_processes_of_one_rank_are_refused() {
    let (listener, options) = place(3);
    let twins: Vec<_> = (0..2)
        .map(|_| {
            let twin = options(1);
            thread::spawn(move || World::join(&twin).err().unwrap().to_string())
        })
        .collect();
    let error = receive_all(&listener, &options(0)).err().unwrap().to_string();
    assert_eq!(error, "ranks disagree: two processes say that they are rank 1");
    for twin in twins {
        assert_eq!(twin.join().unwrap(), error);
    }
}

#[test]
fn a_failure_of_one_rank_is_known_to_all_at_once() {
    let start = Instant::now();
    let errors = on_all(4, |rank, world| {
        let world = world.unwrap();
        match rank {
            2 => {
                sleep(Duration::from_millis(50));
                world.report_failure(Err::<(), _>("out of GPU memory")).unwrap_err();
            }
            // One has no call pending and checks now and then.
            3 => {
                while world.check().is_ok() && start.elapsed() < Duration::from_secs(5) {
                    sleep(Duration::from_millis(1));
                }
            }
            _ => drop(world.gather("size", &rank).unwrap_err()),
        }
        world.check().unwrap_err().to_string()
    });
    for error in errors {
        assert_eq!(error, "rank 2 failed: out of GPU memory");
    }
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

/// A process that is killed closes its connections, and one whose host is lost sends nothing more.
#[test]
fn ended_and_silent_ranks_are_detected() {
    for (silent, expected) in
        [(false, "its process ended"), (true, "nothing was heard of it for 1 s")]
    {
        let (listener, options) = place(2);
        let other = options(1);
        let other = thread::spawn(move || {
            let (streams, _) = meet::greet(&other).unwrap();
            if silent {
                sleep(Duration::from_millis(1500));
            }
            drop(streams);
        });
        let (streams, hosts) = receive_all(&listener, &options(0)).unwrap();
        let world = World::of(&options(0), streams, hosts).unwrap();
        let start = Instant::now();
        let error = world.gather("bins", &1).unwrap_err().to_string();
        assert_eq!(error, format!("rank 1 failed: {expected}"));
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
        other.join().unwrap();
    }
}

#[test]
fn ranks_out_of_step_fail_and_do_not_wait() {
    let errors = on_all(2, |rank, world| {
        let what = if rank == 0 { "bins" } else { "blocks" };
        world.unwrap().gather(what, &0).unwrap_err().to_string()
    });
    for error in errors {
        assert_eq!(error, "rank 1 failed: it is at \"blocks\", rank 0 at \"bins\"");
    }
    let errors = on_all(3, |rank, world| match rank {
        1 => None,
        _ => Some(world.unwrap().gather("bins", &0).unwrap_err().to_string()),
    });
    for error in errors.into_iter().flatten() {
        assert_eq!(error, "rank 1 failed: it has ended its work");
    }
}

/// A rank that leaves does not end the work of others that ask it for nothing.
#[test]
fn ranks_leave_in_any_order() {
    let ended = on_all(3, |rank, world| {
        let world = world.unwrap();
        world.gather("last", &()).unwrap();
        if rank != 1 {
            sleep(Duration::from_millis(100 * rank as u64));
        }
        world.check()
    });
    assert!(ended.iter().all(Result::is_ok), "{ended:?}");
}
