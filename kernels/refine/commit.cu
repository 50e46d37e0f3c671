// Detailed placement: which proposals are made, and making them (src/refine/state.rs and claims.rs).
//
//   refine_start    the sites that cells take at first, and where the pins of nets are; a thread per cell
//   refine_extremes the outermost cells of nets at first; a thread per net, a warp where many cells have it
//   judge           checks that proposals are legal and shorten wires, and notes their claims
//   hold            finds the proposals that conflict with none before them
//   make            makes those
//
// The last three have PF_THREADS threads for each proposal: a warp, or a block of 128 if proposals have up to 48 changes.
// Few proposals with many changes are limited by the time of one warp: with blocks refinement of 200,000 cells takes 490
// instead of 545 ms (H200).
//
// A proposal claims the nets, cells and gaps that it depends on. Its stamp is greater in later turns, and in a turn
// those have greater stamps that go first; atomic maxima give every resource the greatest stamp of those that change
// it and of those that use it. A net is claimed by each pin of the proposal: as changed where the pin changes which
// cells are outermost, else as used. No two proposals that are made in one turn have a resource that one of them
// changes, so warps write apart.
//
// Gains are sums of whole units, the same in any order. Lists of waiting proposals have no order either.
//
// Memory traffic: per proposal and pin 40 bytes, and 128 of its net, in each kernel; 8 or 16 bytes of claims by
// atomics; per change one bit and 4 bytes by band. Blocks of 128 threads; 4.2 kB of shared memory per
// proposal.
#include "refine/state.cuh"

/// Most changes of a proposal.
constexpr u32 MOST_CHANGES = STRETCH_CELLS;
/// Members of a net that one thread looks at; for more there is a warp.
constexpr u32 FEW_MEMBERS = 32;
/// Pins of a proposal whose nets are searched in shared memory.
constexpr u32 SHARED_NETS = 384;

/// Sets a cell down on a site of a band.
__device__ __forceinline__ void set_down(const Refine& s, u32 cell, u32 band, int site) {
    const size_t place = place_of(s, band, site);
    s.standing[place] = cell;
    atomicOr(s.edges + place / 64, u64(1) << (place % 64));
}

PF_KERNEL(256) refine_start(const Refine s) {
    const u32 cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= s.cell_count) return;
    const Spot spot = s.spots[cell];
    u32 band, end;
    if (bands_of(s, s.cells[cell], spot.row, band, end)) {
        for (; band < end; ++band) set_down(s, cell, band, spot.site);
    }
    s.stale[cell] = 1;
    const Pose pose = s.poses[cell];
    for (u32 p = s.pin_start[cell]; p < s.pin_start[cell + 1]; ++p) {
        const Pin& pin = s.pins[p];
        Member& member = s.members[pin.member];
        member.cell = cell;
        on_die(pin, pose, member.sides);
    }
}

/// The outermost two of some cells on one side: greater sides first, of equal ones that of the smaller number.
struct TwoOf {
    double first, second;
    u32 first_at, second_at;  // members, from 1 on; 0 for fixed pins and none

    __device__ __forceinline__ void add(double side, u32 at) {
        if (side > first || (side == first && at < first_at)) {
            second = first;
            second_at = first_at;
            first = side;
            first_at = at;
        } else if (side > second || (side == second && at < second_at)) {
            second = side;
            second_at = at;
        }
    }
};

/// Looks for the outermost cells of a net among all; with a WARP all lanes do.
template <bool WARP> __device__ void look(const Refine& s, u32 net, Outermost* to) {
    const u32 lane = WARP ? threadIdx.x % 32 : 0;
    const u32 begin = s.member_start[net], end = s.member_start[net + 1];
    TwoOf sides[4];
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
        const double none = -1.0 / 0.0;
        // Of the lanes one has the fixed pins; the others begin with none, behind all members.
        sides[k] = lane == 0 ? TwoOf{s.fixed[4 * size_t(net) + k], none, 0, 0} : TwoOf{none, none, NONE, NONE};
    }
#pragma unroll 4
    for (u32 m = begin + lane; m < end; m += WARP ? 32 : 1) {
        const Member& member = s.members[m];
#pragma unroll
        for (u32 k = 0; k < 4; ++k) sides[k].add(member.sides[k], m - begin + 1);
    }
    if (WARP) {
#pragma unroll
        for (u32 k = 0; k < 4; ++k) {
            for (u32 n = 16; n > 0; n /= 2) {
                TwoOf other;
                other.first = __shfl_xor_sync(ALL_LANES, sides[k].first, n);
                other.second = __shfl_xor_sync(ALL_LANES, sides[k].second, n);
                other.first_at = __shfl_xor_sync(ALL_LANES, sides[k].first_at, n);
                other.second_at = __shfl_xor_sync(ALL_LANES, sides[k].second_at, n);
                sides[k].add(other.first, other.first_at);
                sides[k].add(other.second, other.second_at);
            }
        }
    }
    if (lane) return;
    const auto cell_of = [&](u32 at) { return at == 0 || at == NONE ? NONE : s.members[begin + at - 1].cell; };
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
        to[k / 2].first[k % 2] = sides[k].first;
        to[k / 2].second[k % 2] = sides[k].second;
        to[k / 2].first_of[k % 2] = cell_of(sides[k].first_at);
        to[k / 2].second_of[k % 2] = cell_of(sides[k].second_at);
    }
}

/// Whether a warp goes through the cells of a net.
__device__ __forceinline__ bool is_large(const Refine& s, u32 net) {
    return s.member_start[net + 1] - s.member_start[net] > FEW_MEMBERS;
}

PF_KERNEL(256) refine_extremes(const Refine s, const double* weights) {
    const u32 net = blockIdx.x * blockDim.x + threadIdx.x;
    const bool is_net = net < s.net_count, large = is_net && is_large(s, net);
    if (is_net) s.extremes[2 * size_t(net)].weight = s.extremes[2 * size_t(net) + 1].weight = weights[net];
    if (is_net && !large) look<false>(s, net, s.extremes + 2 * size_t(net));
    for (u32 left = __ballot_sync(ALL_LANES, large); left; left &= left - 1) {
        const u32 of_one = __shfl_sync(ALL_LANES, net, __ffs(int(left)) - 1);
        look<true>(s, of_one, s.extremes + 2 * size_t(of_one));
    }
}

/// Threads of a proposal, and proposals of a block.
constexpr u32 THREADS = PF_THREADS, OF_BLOCK = 128 / THREADS;

/// Waits for all threads of a proposal.
__device__ __forceinline__ void sync() {
    if constexpr (THREADS == 32) {
        __syncwarp();
    } else {
        __syncthreads();
    }
}

/// Whether it is so for all threads of a proposal.
__device__ __forceinline__ bool all_of(bool is) {
    if constexpr (THREADS == 32) return __all_sync(ALL_LANES, is);
    return __syncthreads_and(is);
}

/// The sum over the threads of a proposal.
__device__ __forceinline__ i64 total(i64 value) {
    value = warp_total(value);
    if constexpr (THREADS > 32) {
        __shared__ i64 of_warps[THREADS / 32];
        if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
        __syncthreads();
        value = 0;
        for (u32 k = 0; k < THREADS / 32; ++k) value += of_warps[k];
    }
    return value;
}

/// A proposal, as its threads share it.
struct Proposal {
    Pose to[MOST_CHANGES];
    u64 nets[MOST_CHANGES];
    Change changes[MOST_CHANGES];
    u32 pins[MOST_CHANGES];       // the first pin of each cell
    u32 before[MOST_CHANGES + 1]; // pins of the cells before
    u32 count;
    u32 net[SHARED_NETS];         // by pin, of several changes with no more pins
};

__device__ __forceinline__ void read(const Refine& s, const Batch& batch, u32 index, Proposal& of) {
    const u32 thread = threadIdx.x % THREADS, lane = threadIdx.x % 32, count = min(s.counts[index], MOST_CHANGES);
    sync();
    u32 before = 0;
    // The first warp does.
    for (u32 k = lane; thread < 32 && k - lane < count; k += 32) {
        u32 pins = 0;
        if (k < count) {
            const Change change = s.changes[size_t(index) * batch.stride + k];
            of.changes[k] = change;
            of.to[k] = pose_at(s, change.cell, change.row, change.site, change.mirrored);
            of.nets[k] = s.cells[change.cell].nets;
            of.pins[k] = s.pin_start[change.cell];
            pins = s.pin_start[change.cell + 1] - of.pins[k];
        }
        const u32 until = warp_prefix(pins);
        if (k < count) of.before[k + 1] = before + until;
        before += __shfl_sync(ALL_LANES, until, 31);
    }
    if (thread == 0) {
        of.count = count;
        of.before[0] = 0;
    }
    sync();
    const u32 pins = of.before[count];
    if (count > 1 && pins <= SHARED_NETS) {
        for (u32 k = 0, i = thread; i < pins; i += THREADS) {
            while (of.before[k + 1] <= i) ++k;
            of.net[i] = s.pins[of.pins[k] + i - of.before[k]].net;
        }
        sync();
    }
}

__device__ __forceinline__ bool moves(const Proposal& of, u32 cell) {
    bool moves = false;
#pragma unroll 4
    for (u32 k = 0; k < of.count; ++k) moves |= of.changes[k].cell == cell;
    return moves;
}

/// The pin on a net of the cell of a change, or NONE.
__device__ __forceinline__ u32 pin_of(const Refine& s, const Proposal& of, u32 k, u32 net) {
    if (of.before[of.count] > SHARED_NETS) return pin_on(s, of.changes[k].cell, net);
    u32 low = of.before[k], end = of.before[k + 1], high = end;
    while (low < high) {
        const u32 middle = (low + high) / 2;
        if (of.net[middle] < net) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < end && of.net[low] == net ? of.pins[k] + low - of.before[k] : NONE;
}

/// The changes whose cells have a net, a bit each; change `k` is one.
__device__ __forceinline__ u64 group_of(const Refine& s, const Proposal& of, u32 k, u32 net) {
    u64 group = u64(1) << k, may = 0;
    if (of.count == 1) return group;
    const u64 bit = bit_of(net);
#pragma unroll 4
    for (u32 n = 0; n < of.count; ++n) may |= u64((of.nets[n] & bit) != 0) << n;
    for (may &= ~group; may; may &= may - 1) {
        const u32 n = __ffsll(i64(may)) - 1;
        if (pin_of(s, of, n, net) != NONE) group |= u64(1) << n;
    }
    return group;
}

/// Whether a group has the change of a cell.
__device__ __forceinline__ bool has(const Proposal& of, u64 group, u32 cell) {
    bool has = false;
    for (; group; group &= group - 1) has |= of.changes[__ffsll(i64(group)) - 1].cell == cell;
    return has;
}

/// Calls `each` with every resource that a proposal claims, and whether it changes it.
template <typename F> __device__ __forceinline__ void claims(const Refine& s, const Proposal& of, F each) {
    const u32 thread = threadIdx.x % THREADS, pins = of.before[of.count];
    for (u32 k = 0, i = thread; i < pins; i += THREADS) {
        while (of.before[k + 1] <= i) ++k;
        const Pin& pin = s.pins[of.pins[k] + i - of.before[k]];
        double sides[4];
        on_die(pin, of.to[k], sides);
        each(pin.net, changes_net(s.extremes + 2 * size_t(pin.net), of.changes[k].cell, sides));
    }
    for (u32 k = thread; k < of.count; k += THREADS) {
        const Change& change = of.changes[k];
        const Cell& cell = s.cells[change.cell];
        each(s.net_count + change.cell, true);
        u32 band, end;
        if (!bands_of(s, cell, change.row, band, end)) continue;
        // The gaps beside the cells that are on its sites: each has the number of the cell at its left.
        const u32 gaps = s.net_count + s.cell_count;
        for (; band < end; ++band) {
            const int before = edge_before(s, band, change.site), right = change.site + cell.sites;
            each(gaps + (before == FAR_LEFT ? s.cell_count + band : cell_at(s, band, before)), true);
            for (int edge = edge_from(s, band, change.site); edge < right; edge = edge_from(s, band, edge + 1)) {
                each(gaps + cell_at(s, band, edge), true);
            }
        }
    }
}

/// As `stamp` of src/refine/claims.rs, from the greatest number down.
__device__ __forceinline__ u64 stamp_of(const Batch& batch, u32 index) {
    u32 place = index;
    place = (place ^ place >> 16) * 0x85ebca6b;
    place = (place ^ place >> 13) * 0xc2b2ae35;
    return u64(batch.turn) << 32 | ~(place ^ place >> 16);
}

/// Whether two changes bring cells to the same sites.
__device__ __forceinline__ bool overlap(const Refine& s, const Change& a, const Change& b) {
    const Cell &of_a = s.cells[a.cell], &of_b = s.cells[b.cell];
    if (a.site >= b.site + of_b.sites || b.site >= a.site + of_a.sites) return false;
    u32 first_a, end_a, first_b, end_b;
    if (!bands_of(s, of_a, a.row, first_a, end_a) || !bands_of(s, of_b, b.row, first_b, end_b)) return true;
    return first_a < end_b && first_b < end_a;
}

/// Whether the placement is legal after a proposal, as it is before.
__device__ bool is_legal(const Refine& s, const Proposal& of) {
    bool legal = true;
    for (u32 k = threadIdx.x % THREADS; k < of.count && legal; k += THREADS) {
        const Change& change = of.changes[k];
        legal = fits(s, change.cell, change.row, change.site, [&](u32 cell) { return moves(of, cell); });
        for (u32 n = 0; n < k && legal; ++n) legal = !overlap(s, change, of.changes[n]);
    }
    return all_of(legal);
}

/// Whether only a look at all its cells tells how far a large net reaches without the cells of a group.
__device__ bool needs_warp(const Refine& s, const Proposal& of, u64 group, u32 net) {
    if (!(group & (group - 1)) || !is_large(s, net)) return false;
    bool looks = false;
    for (u32 side = 0; side < 4; ++side) {
        const Outermost& axis = s.extremes[2 * size_t(net) + side / 2];
        looks |= has(of, group, axis.first_of[side % 2]) && has(of, group, axis.second_of[side % 2]);
    }
    return looks;
}

/// By how many units the pin `p` of change `k`, with those of other changes on its net, shortens the net; 0 if a
/// change before it has the net. Without a WARP, `waits` tells that all lanes of one have to ask for it.
template <bool WARP> __device__ i64 gain_of_pin(const Refine& s, const Proposal& of, u32 k, u32 p, bool& waits) {
    const Pin& pin = s.pins[p];
    const Outermost* net = s.extremes + 2 * size_t(pin.net);
    const u64 group = group_of(s, of, k, pin.net);
    if (group & ((u64(1) << k) - 1)) return 0;
    waits = !WARP && needs_warp(s, of, group, pin.net);
    if (waits) return 0;
    double then[4], now[4], others[4];
    on_die(pin, of.to[k], then);
    if (group >> k == 1) {
        without(net, of.changes[k].cell, others);
    } else {
        for (u64 rest = group & ~(u64(1) << k); rest; rest &= rest - 1) {
            const u32 n = __ffsll(i64(rest)) - 1;
            double sides[4];
            on_die(s.pins[pin_of(s, of, n, pin.net)], of.to[n], sides);
            enlarge(then, sides);
        }
        for (u32 side = 0; side < 4; ++side) {
            others[side] = side_without<WARP>(s, pin.net, side, [&](u32 cell) { return has(of, group, cell); });
        }
    }
    enlarge(then, others);
    whole_of(net, now);
    return units_of(s, times(net[0].weight, length_of(now) - length_of(then)));
}

PF_KERNEL(128) judge(const Refine s, const Batch batch) {
    __shared__ Proposal all[OF_BLOCK];
    Proposal& of = all[threadIdx.x / THREADS];
    const u32 now = batch.turn % 2, waiting = s.counters->waiting[now], thread = threadIdx.x % THREADS;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        s.counters->waiting[1 - now] = 0;
        s.counters->made = 0;
        s.counters->turns += waiting ? 1 : 0;
    }
    for (u32 w = blockIdx.x * OF_BLOCK + threadIdx.x / THREADS; w < waiting; w += gridDim.x * OF_BLOCK) {
        const u32 index = s.waiting[now][w];
        read(s, batch, index, of);
        i64 gain = 0;
        const u32 pins = of.before[of.count];
        for (u32 k = 0, i = thread; i - thread < pins; i += THREADS) {
            bool waits = false;
            u32 p = 0;
            if (i < pins) {
                while (of.before[k + 1] <= i) ++k;
                p = of.pins[k] + i - of.before[k];
                gain += gain_of_pin<false>(s, of, k, p, waits);
            }
            for (u32 left = __ballot_sync(ALL_LANES, waits); left; left &= left - 1) {
                const int one = __ffs(int(left)) - 1;
                const u32 of_k = __shfl_sync(ALL_LANES, k, one), of_p = __shfl_sync(ALL_LANES, p, one);
                const i64 by_all = gain_of_pin<true>(s, of, of_k, of_p, waits);
                if (int(threadIdx.x % 32) == one) gain += by_all;
            }
        }
        gain = total(gain);
        if (!(length_of_units(s, gain) > s.least_gain) || !is_legal(s, of)) gain = 0;
        if (thread == 0) s.gains[index] = gain;
        if (!gain) continue;
        const u64 stamp = stamp_of(batch, index);
        claims(s, of, [&](u32 resource, bool changes) { atomicMax((changes ? s.changed : s.used) + resource, stamp); });
    }
}

PF_KERNEL(128) hold(const Refine s, const Batch batch) {
    __shared__ Proposal all[OF_BLOCK];
    Proposal& of = all[threadIdx.x / THREADS];
    const u32 now = batch.turn % 2, waiting = s.counters->waiting[now], thread = threadIdx.x % THREADS;
    for (u32 w = blockIdx.x * OF_BLOCK + threadIdx.x / THREADS; w < waiting; w += gridDim.x * OF_BLOCK) {
        const u32 index = s.waiting[now][w];
        const i64 gain = s.gains[index];
        if (!gain) continue;
        read(s, batch, index, of);
        const u64 stamp = stamp_of(batch, index);
        bool holds = true;
        claims(s, of, [&](u32 resource, bool changes) {
            holds = holds && s.changed[resource] <= stamp && !(changes && s.used[resource] > stamp);
        });
        holds = all_of(holds);
        if (thread) continue;
        if (holds) {
            s.made[atomicAdd(&s.counters->made, 1u)] = index;
            atomicAdd(&s.counters->low[index % GAIN_SUMS], u64(gain) & 0xffffffffu);
            atomicAdd(&s.counters->high[index % GAIN_SUMS], u64(gain) >> 32);
        } else {
            s.waiting[1 - now][atomicAdd(&s.counters->waiting[1 - now], 1u)] = index;
        }
    }
}

/// Adds a cell to the outermost of a net, which does not name it.
__device__ __forceinline__ void add(Outermost* net, u32 cell, const double (&sides)[4]) {
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
        Outermost& of = net[k / 2];
        const u32 n = k % 2;
        if (sides[k] > of.first[n]) {
            of.second[n] = of.first[n];
            of.second_of[n] = of.first_of[n];
            of.first[n] = sides[k];
            of.first_of[n] = cell;
        } else if (sides[k] > of.second[n]) {
            of.second[n] = sides[k];
            of.second_of[n] = cell;
        }
    }
}

/// How the outermost cells of a net follow a pin of a change: not at all, or with a change before it that has the
/// net; they have been brought up to date; or only a look at all members tells.
enum Followed { ELSEWHERE, UP_TO_DATE, LOOK };

__device__ Followed follow(const Refine& s, const Proposal& of, u32 k, u32 p, Outermost (&net)[2]) {
    const u32 id = s.pins[p].net;
    const u64 group = group_of(s, of, k, id);
    if (group & ((u64(1) << k) - 1)) return ELSEWHERE;
    bool named = false, changes = false;
    for (u64 rest = group; rest; rest &= rest - 1) {
        const u32 n = __ffsll(i64(rest)) - 1, pin = n == k ? p : pin_of(s, of, n, id), cell = of.changes[n].cell;
        named |= names(net[0], cell) || names(net[1], cell);
        changes |= changes_net(net, cell, s.members[s.pins[pin].member].sides);
    }
    if (named) return LOOK;
    if (!changes) return ELSEWHERE;
    // In order of their members, which is that of cells.
    for (u64 rest = group; rest;) {
        u32 next = 0;
        for (u64 left = rest; left; left &= left - 1) {
            const u32 n = __ffsll(i64(left)) - 1;
            if (left == rest || of.changes[n].cell < of.changes[next].cell) next = n;
        }
        rest &= ~(u64(1) << next);
        const u32 pin = next == k ? p : pin_of(s, of, next, id);
        add(net, of.changes[next].cell, s.members[s.pins[pin].member].sides);
    }
    return UP_TO_DATE;
}

__device__ __forceinline__ bool differ(const Outermost& a, const Outermost& b) {
    bool differ = false;
#pragma unroll
    for (u32 k = 0; k < 2; ++k) {
        differ = differ || a.first[k] != b.first[k] || a.second[k] != b.second[k] || a.first_of[k] != b.first_of[k] ||
                 a.second_of[k] != b.second_of[k];
    }
    return differ;
}

/// Writes the outermost cells of a net, and has slopes that depend on them computed again.
__device__ void write(const Refine& s, u32 net, const Outermost (&found)[2]) {
    Outermost* to = s.extremes + 2 * size_t(net);
#pragma unroll
    for (u32 axis = 0; axis < 2; ++axis) {
        if (!differ(to[axis], found[axis])) continue;
        for (u32 k = 0; k < 2; ++k) {
            if (to[axis].first_of[k] != NONE) s.stale[to[axis].first_of[k]] = 1;
            if (found[axis].first_of[k] != NONE) s.stale[found[axis].first_of[k]] = 1;
        }
        to[axis] = found[axis];
    }
}

PF_KERNEL(128) make(const Refine s, const Batch batch) {
    __shared__ Proposal all[OF_BLOCK];
    Proposal& of = all[threadIdx.x / THREADS];
    const u32 made = s.counters->made, thread = threadIdx.x % THREADS, lane = threadIdx.x % 32;
    for (u32 w = blockIdx.x * OF_BLOCK + threadIdx.x / THREADS; w < made; w += gridDim.x * OF_BLOCK) {
        read(s, batch, s.made[w], of);
        // First all cells are lifted, then all are set down.
        for (u32 k = thread; k < of.count; k += THREADS) {
            const Change& change = of.changes[k];
            const Spot now = s.spots[change.cell];
            u32 band, end;
            if ((now.row == change.row && now.site == change.site) ||
                !bands_of(s, s.cells[change.cell], now.row, band, end)) {
                continue;
            }
            for (; band < end; ++band) {
                const size_t place = place_of(s, band, now.site);
                atomicAnd(s.edges + place / 64, ~(u64(1) << (place % 64)));
            }
        }
        sync();
        for (u32 k = thread; k < of.count; k += THREADS) {
            const Change& change = of.changes[k];
            u32 band, end;
            if (!bands_of(s, s.cells[change.cell], change.row, band, end)) continue;
            for (; band < end; ++band) set_down(s, change.cell, band, change.site);
            s.spots[change.cell] = {change.row, change.site, change.mirrored, 0};
            s.poses[change.cell] = of.to[k];
        }
        const u32 pins = of.before[of.count];
        for (u32 k = 0, i = thread; i < pins; i += THREADS) {
            while (of.before[k + 1] <= i) ++k;
            const Pin& pin = s.pins[of.pins[k] + i - of.before[k]];
            on_die(pin, of.to[k], s.members[pin.member].sides);
        }
        __threadfence_block();
        sync();
        for (u32 k = 0, i = thread; i - thread < pins; i += THREADS) {
            u32 net = NONE;
            Followed how = ELSEWHERE;
            Outermost found[2];
            if (i < pins) {
                while (of.before[k + 1] <= i) ++k;
                const u32 p = of.pins[k] + i - of.before[k];
                net = s.pins[p].net;
                found[0] = s.extremes[2 * size_t(net)];
                found[1] = s.extremes[2 * size_t(net) + 1];
                how = follow(s, of, k, p, found);
            }
            const bool large = how == LOOK && is_large(s, net);
            if (how == LOOK && !large) look<false>(s, net, found);
            if (how != ELSEWHERE && !large) write(s, net, found);
            for (u32 left = __ballot_sync(ALL_LANES, large); left; left &= left - 1) {
                const u32 one = __ffs(int(left)) - 1, of_one = __shfl_sync(ALL_LANES, net, int(one));
                Outermost whole[2];
                look<true>(s, of_one, whole);
                __syncwarp();
                if (lane == 0) {
                    whole[0].weight = whole[1].weight = s.extremes[2 * size_t(of_one)].weight;
                    whole[0].padding = whole[1].padding = 0;
                    write(s, of_one, whole);
                }
                __syncwarp();
            }
        }
        sync();
    }
}
