// Finds a Python and tells it where the client is.
import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const pythonHome = fileURLToPath(new URL('../', import.meta.url))
export const pythonEnvironment = {
  ...process.env,
  PYTHONPATH: path.join(pythonHome, 'src'),
  PYTHONDONTWRITEBYTECODE: '1',
  ANNAL_NODE: process.execPath,
}

/** The first Python that has the modules; the system's may have them if another one is first on the path. */
export function pythonWith(...modules: readonly string[]): string | undefined {
  return ['python3', '/usr/bin/python3'].find((python) => {
    try {
      execFileSync(python, ['-c', modules.map((name) => `import ${name}`).join('\n')], { stdio: 'ignore' })
      return true
    } catch {
      // Not installed, or without one of the modules.
      return false
    }
  })
}
