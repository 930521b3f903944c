// What signals do, from the first line of the process on. Until something is open, a signal that stops the process ends it with code 0. As the first
// process of a container, a process without handlers would ignore it.

const stopping = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** Node.js opens a debugger on SIGUSR1, to which every user of the machine can connect. The default of SIGUSR2 is to end. */
const ignored = ['SIGUSR1', 'SIGUSR2'] as const

const leave = (): never => process.exit(0)

export function handleEarlySignals(): void {
  for (const name of stopping) process.on(name, leave)
  for (const name of ignored) process.on(name, () => undefined)
}

/** Calls `stop` on SIGINT, SIGTERM, and SIGHUP, or `reload` on SIGHUP if it is given. */
export function handleSignals(stop: (name: string) => void, reload: (() => void) | undefined): void {
  for (const name of stopping) {
    process.on(name, name === 'SIGHUP' && reload !== undefined ? reload : stop)
    process.off(name, leave)
  }
}
