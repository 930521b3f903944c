// Loaded first (`--import`, which worker threads inherit): clocks and random numbers throw if the fold uses them, so no state can depend on
// them.
const fold = /\/engine\/(?:src|dist)\/(?:memory|filter|vector|replica|events)\//
/** The time that a writer waits is not part of the state, and neither is when a worker pauses. */
const excused = /\/replica\/write-gate\.|\/vector\/threads\/pace\./

function trapIn<F extends (...args: never[]) => unknown>(name: string, inner: F): F {
  const guarded = (...args: Parameters<F>): unknown => {
    const frames = new Error().stack?.split('\n').slice(2, 4).join('\n') ?? ''
    if (fold.test(frames) && !excused.test(frames)) throw new Error(`the fold called ${name}:\n${frames}`)
    return inner(...args)
  }
  // It has the same parameters and result as the function that it replaces.
  return guarded as F
}

Date.now = trapIn('Date.now', Date.now)
Math.random = trapIn('Math.random', Math.random)
performance.now = trapIn('performance.now', performance.now.bind(performance))
process.hrtime.bigint = trapIn('process.hrtime.bigint', process.hrtime.bigint.bind(process.hrtime))
