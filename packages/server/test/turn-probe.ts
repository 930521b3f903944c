// Loaded first into a server of a test: on SIGUSR2 it prints the longest turn of the event loop since the last signal, in wall time and in
// CPU time. CPU time excludes other programs of the machine.
import { isMainThread } from 'node:worker_threads'

if (isMainThread) {
  let clockMs = 0
  let cpuMs = 0
  let clock = performance.now()
  let cpu = process.threadCpuUsage()
  const look = (): void => {
    const now = performance.now()
    const used = process.threadCpuUsage(cpu)
    clockMs = Math.max(clockMs, now - clock)
    cpuMs = Math.max(cpuMs, (used.user + used.system) / 1_000)
    clock = now
    cpu = process.threadCpuUsage()
  }
  setInterval(look, 1).unref()
  process.on('SIGUSR2', () => {
    look()
    console.log(`turn ${clockMs.toFixed(1)} ${cpuMs.toFixed(1)}`)
    clockMs = 0
    cpuMs = 0
  })
}
