// The server and the command line as tests start them: what follows `node`. They are the builds if ANNAL_BUILT=1 says that these are those of
// the sources, because a build starts in half the processor time; the runner of the tests sets it. Otherwise they are the sources.
import { fileURLToPath } from 'node:url'

const isBuilt = process.env.ANNAL_BUILT === '1'

/** The program of a file of the sources, such as one that starts the server. */
export function sourceProgram(file: string): readonly string[] {
  return ['--conditions=annal-source', file]
}

/** `node ...serverProgram` starts a server. */
export const serverProgram = programOf('../dist/main.js', '../src/main.ts')
/** `node ...commandProgram serve` is `annal serve`. */
export const commandProgram = programOf('../../cli/dist/annal.js', '../../cli/src/annal.ts')

/** `annal` as a shell script, for a folder on the path. */
export const commandScript = `#!/bin/sh\nexec "${[process.execPath, ...commandProgram].join('" "')}" "$@"\n`

function programOf(build: string, source: string): readonly string[] {
  const file = (name: string) => fileURLToPath(new URL(name, import.meta.url))
  return isBuilt ? [file(build)] : sourceProgram(file(source))
}
