// Preloaded into a measured server (`--import`), which needs no code for it: replaces the search of the kernel by a loop that takes
// ANNAL_SPIN_US microseconds on an idle core. The first search of each instance is real, and its hits are those of all later ones.

type Search = (...args: number[]) => number

const spinUs = Number(process.env.ANNAL_SPIN_US)
const perUs = calibrate()

/** Returns a number, so that the loop is not removed. */
function loop(rounds: number): number {
  let state = 1
  for (let i = 0; i < rounds; i++) state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + i
  return state
}

/** Rounds in a microsecond: the most of many trials, because other work on the machine only makes a trial slower. */
function calibrate(): number {
  const rounds = 20_000
  let most = 0
  for (let trial = 0; trial < 500; trial++) {
    const begun = performance.now()
    loop(rounds)
    most = Math.max(most, rounds / ((performance.now() - begun) * 1_000))
  }
  return most
}

WebAssembly.Instance = new Proxy(WebAssembly.Instance, {
  construct(target, parameters: ConstructorParameters<typeof WebAssembly.Instance>) {
    const instance = new target(...parameters)
    const { search } = instance.exports as { readonly search?: Search }
    if (search === undefined) return instance
    let found: number | undefined
    const replaced: Search = (...args) => {
      if (found === undefined) found = search(...args)
      else loop(spinUs * perUs)
      return found
    }
    return { exports: { ...instance.exports, search: replaced } }
  },
})
