// Prints the progress of a long step to stderr: nothing for a short step, one line every ten seconds for a long one.
const everyMs = 10_000

export function progress(what: string, total: number): (done: number) => void {
  const begun = performance.now()
  let reported = begun
  return (done) => {
    const now = performance.now()
    if (now - reported < everyMs) return
    reported = now
    process.stderr.write(`${what}: ${done} of ${total}, ${Math.round((now - begun) / 1000)} s\n`)
  }
}
