// Caps the part of V8's heap that new objects go to. Without a cap it grows with the first thousands of requests, to more than 100 MB,
// and keeps that for as long as the process lives. V8 reads the cap only when a process starts, so a server that was started without
// one replaces its own process: same process id, same files, same arguments. Docker, systemd and signals see no difference. The new process
// also gets the settings of the C library's allocator that return memory to the system after a load.

/** MiB of one semi-space, of which V8 holds up to three. Searches take no longer with it (docs/reliability.md, Long lives). */
export const semiSpaceMiB = 8

/**
 * With these, glibc gives each buffer of 128 KiB and more a mapping of its own, which freeing removes. By default the limit rises with the
 * first large buffer that is freed, and later ones share a heap that shrinks only from its end. Other C libraries ignore them.
 */
export const allocatorSettings = { MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '131072' }

const capFlag = /--max[-_]semi[-_]space[-_]size\b/

/** Returns where there is a cap already, or where the platform cannot replace a process: Node.js before 22.15, Windows. */
export function capYoungGeneration(): void {
  const { execArgv, execPath, argv, env, execve } = process
  if (execve === undefined || process.platform === 'win32') return
  if (capFlag.test([...execArgv, env.NODE_OPTIONS].join(' '))) return
  execve.call(process, execPath, [execPath, `--max-semi-space-size=${semiSpaceMiB}`, ...execArgv, ...argv.slice(1)], {
    ...allocatorSettings,
    ...env,
  })
}
