// Callers who each ask again as soon as they have their answer.
export interface Asked {
  readonly seconds: number
  /** CPU time of the calling thread, for all callers together. */
  readonly mainSeconds: number
  /** Of each question, sorted. */
  readonly latenciesMs: readonly number[]
}

export async function askedBy(callers: number, count: number, ask: (i: number) => Promise<void>): Promise<Asked> {
  const latenciesMs: number[] = []
  let next = 0
  const caller = async () => {
    while (next < count) {
      const begun = performance.now()
      await ask(next++)
      latenciesMs.push(performance.now() - begun)
    }
  }
  const cpu = process.threadCpuUsage()
  const begun = performance.now()
  await Promise.all(Array.from({ length: callers }, caller))
  const seconds = (performance.now() - begun) / 1000
  const { user, system } = process.threadCpuUsage(cpu)
  return { seconds, mainSeconds: (user + system) / 1e6, latenciesMs: latenciesMs.sort((a, b) => a - b) }
}
