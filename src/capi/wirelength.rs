//! The wirelength of a design's nets and its gradient.

use super::design::{DesignHandle, on_design};
use super::memory::{Span, optional, outputs, values};
use super::solver::wrong_precision;
use super::status::{ErrorText, Failure, Status, call};
use super::{Checked, Device, Options, handles, in_precision, options};
use crate::charge::origin_for;
use crate::cpu::engine::thread_pool;
use crate::cpu::wirelength::CpuWirelength;
use crate::real::{Precision, Real};
use crate::wirelength::Netlist;
use rayon::ThreadPool;
use std::any::Any;
use std::ffi::c_void;

/// The nets of a design, to measure their wirelength at positions of the movable cells.
pub struct WirelengthHandle;

/// Wirelength of the nets at positions of the movable cells.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct WirelengthResult {
    /// Weighted-average wirelength, Σ over the nets of net weight · smoothed half-perimeter, layout
    /// units. Nets of more pins than `ignore_net_degree` are left out.
    pub smooth: f64,
    /// Half-perimeter wirelength, Σ over all nets of net weight · half-perimeter, layout units.
    pub hpwl: f64,
}

/// The nets of a design, and the operator in one precision.
struct OfDesign {
    netlist: Netlist,
    /// The net weights that the design has.
    own: Vec<f64>,
    /// A `CpuWirelength<T>`.
    operator: Box<dyn Any + Send>,
    renew: fn(&mut (dyn Any + Send), &Netlist) -> Result<(), Failure>,
    pool: ThreadPool,
}

impl OfDesign {
    fn new<T: Real>(netlist: Netlist, own: Vec<f64>, pool: ThreadPool) -> Self {
        let operator = Box::new(CpuWirelength::<T>::new(&netlist, [0.0; 2]));
        OfDesign { netlist, own, operator, renew: renew::<T>, pool }
    }
}

fn on_operator<T: Real>(operator: &mut (dyn Any + Send)) -> Result<&mut CpuWirelength<T>, Failure> {
    operator.downcast_mut().ok_or_else(|| wrong_precision::<T>("wirelength"))
}

/// Gives the operator the net weights of `netlist`.
fn renew<T: Real>(operator: &mut (dyn Any + Send), netlist: &Netlist) -> Result<(), Failure> {
    Ok(on_operator::<T>(operator)?.set_weights(netlist)?)
}

/// Returns the nets of `large` pins and more from the caller's largest number of pins.
pub(super) fn large_net(ignore_net_degree: usize) -> Result<usize, Failure> {
    match ignore_net_degree {
        0 => Ok(Netlist::ALL),
        1 => Err(Failure::argument("ignore_net_degree is 1: expected 0 or a number from 2 on")),
        most => Ok(most.saturating_add(1)),
    }
}

/// Prepares the wirelength of a design's nets. Nets of more than `ignore_net_degree` pins are left
/// out of the weighted average; 0 leaves out no net. `options` has the precision of positions and
/// gradients and the threads; its device is PLACEFIELD_CPU. Freed by placefield_wirelength_free; it
/// does not need the design any more. Floats are refused where they round positions on the die by a
/// noticeable part of a row's height.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_wirelength_new(
    design: *const DesignHandle,
    ignore_net_degree: usize,
    options: *const Options,
    wirelength: *mut *mut WirelengthHandle,
    error: *mut ErrorText,
) -> Status {
    on_design(design, error, |read| {
        let design = &read.design;
        let inputs = [Span::new(options, 1, "options")];
        let Checked { precision, device, engine } = self::options(options)?;
        if device != Device::Cpu {
            return Err(Failure::argument("options.device: wirelength needs PLACEFIELD_CPU"));
        }
        let wirelength = super::memory::output(wirelength, "wirelength", &inputs)?;
        let netlist = Netlist::from_design(design, large_net(ignore_net_degree)?)?;
        if let Some(die) = design.die()
            && origin_for(&die, design.row_height(), precision)? != [0.0; 2]
        {
            let text = "options.precision: floats round positions so far from 0: expected doubles";
            return Err(Failure::argument(text));
        }
        let own = design.nets.as_ref().map_or_else(Vec::new, |nets| nets.weight.clone());
        let pool = thread_pool(engine.threads)?;
        wirelength.write(handles::add(match precision {
            Precision::F32 => OfDesign::new::<f32>(netlist, own, pool),
            Precision::F64 => OfDesign::new::<f64>(netlist, own, pool),
        }));
        Ok(())
    })
}

/// Frees a wirelength. NULL has no effect; a freed handle is PLACEFIELD_STATUS_BAD_HANDLE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_wirelength_free(
    wirelength: *mut WirelengthHandle,
    error: *mut ErrorText,
) -> Status {
    call(error, || handles::remove::<OfDesign, _>(wirelength, "wirelength"))
}

/// Replaces the net weights: `nets` values in the design's order, each finite and not negative;
/// NULL: the design's own. The design keeps its weights. After an error the weights are unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_wirelength_set_weights(
    wirelength: *mut WirelengthHandle,
    weights: *const f64,
    nets: usize,
    error: *mut ErrorText,
) -> Status {
    call(error, || {
        handles::with(wirelength, "wirelength", |of: &mut OfDesign| {
            super::engine::check_count("nets", nets, of.own.len())?;
            match weights.is_null() {
                true => of.netlist.set_weights(&of.own)?,
                false => of.netlist.set_weights(values(weights, nets, "weights")?)?,
            }
            (of.renew)(&mut *of.operator, &of.netlist)
        })
    })
}

/// Computes the wirelength with the lower-left corners of the movable cells at `x` and `y`, layout
/// units: `bodies` values each, at least as many as the design has movable cells. Values after
/// those of the movable cells, such as the fillers', are ignored. `gamma` is the smoothing length,
/// layout units, above 0. `gradient`, if not NULL, gets the derivative of the weighted average: x of
/// every body, then y, 2 · `bodies` values, 0 for other bodies than movable cells.
/// placefield_engine_gradient adds the density's. `precision` is the placefield_precision of `x`,
/// `y` and `gradient`, which is that of the options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_wirelength_evaluate(
    wirelength: *mut WirelengthHandle,
    precision: i32,
    x: *const c_void,
    y: *const c_void,
    bodies: usize,
    gamma: f64,
    result: *mut WirelengthResult,
    gradient: *mut c_void,
    error: *mut ErrorText,
) -> Status {
    in_precision!(precision, error, T => {
        evaluate::<T>(
            wirelength,
            [x.cast(), y.cast()],
            bodies,
            gamma,
            (result, gradient.cast()),
            error,
        )
    })
}

unsafe fn evaluate<T: Real>(
    wirelength: *mut WirelengthHandle,
    [x, y]: [*const T; 2],
    bodies: usize,
    gamma: f64,
    (result, gradient): (*mut WirelengthResult, *mut T),
    error: *mut ErrorText,
) -> Status {
    call(error, || {
        handles::with(wirelength, "wirelength", |of: &mut OfDesign| {
            let operator = on_operator::<T>(&mut *of.operator)?;
            let movable = of.netlist.movable();
            // Before any of the memory is looked at: a wrong length is not believed.
            if bodies < movable {
                let text = format!("{bodies} bodies, expected {movable} at least");
                return Err(Failure::new(Status::BadLength, text));
            }
            let twice = bodies.checked_mul(2);
            let twice = twice.ok_or_else(|| {
                Failure::new(Status::BadLength, format!("gradient: 2 · {bodies} values"))
            })?;
            let inputs = [Span::new(x, bodies, "x"), Span::new(y, bodies, "y")];
            let (x, y) = (values(x, bodies, "x")?, values(y, bodies, "y")?);
            let others = [inputs[0], inputs[1], Span::new(gradient, twice, "gradient")];
            let result = optional(result, "result", &others)?;
            let mut unasked = Vec::new();
            let gradient = match gradient.is_null() {
                true => {
                    unasked.resize(2 * movable, T::cast(0.0));
                    &mut unasked[..]
                }
                false => {
                    let [gradient] = outputs([(gradient, "gradient")], twice, &inputs)?;
                    gradient
                }
            };
            let used = gradient.len() / 2;
            let (gradient_x, gradient_y) = gradient.split_at_mut(used);
            let (x, y) = (&x[..used], &y[..used]);
            let found =
                of.pool.install(|| operator.evaluate(x, y, gamma, gradient_x, gradient_y))?;
            let found = WirelengthResult { smooth: found.smooth, hpwl: found.hpwl };
            result.into_iter().for_each(|to| to.write(found));
            Ok(())
        })
    })
}
