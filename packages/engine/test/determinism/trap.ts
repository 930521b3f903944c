// Loaded before anything else (`--import`, which worker threads inherit): from now on clocks and chance throw when the fold
// asks them, so that a state which depends on them cannot even be built.
const fold = /\/engine\/(?:src|dist)\/(?:memory|filter|vector|replica|events)\//
/** How long a writer waits for its turn is no part of the state. */
const excused = /\/replica\/write-gate\./

function trapped<F extends (...args: never[]) => unknown>(name: string, inner: F): F {
  const guarded = (...args: Parameters<F>): unknown => {
    const frames = new Error().stack?.split('\n').slice(2, 4).join('\n') ?? ''
    if (fold.test(frames) && !excused.test(frames)) throw new Error(`the fold asked ${name}:\n${frames}`)
    return inner(...args)
  }
  // The same parameters and answer as what it stands for.
  return guarded as F
}

Date.now = trapped('Date.now', Date.now)
Math.random = trapped('Math.random', Math.random)
performance.now = trapped('performance.now', performance.now.bind(performance))
process.hrtime.bigint = trapped('process.hrtime.bigint', process.hrtime.bigint.bind(process.hrtime))
