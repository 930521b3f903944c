// `node scripts/pack-python.ts OUT [SOURCE_DATE_EPOCH]`: makes the wheel and the source distribution of the Python client. The same
// sources give the same bytes: entries are sorted, and have one time and one owner. Needs hatchling, which declares no more than files.
import { execFile, execFileSync } from 'node:child_process'
import { mkdir, readdir } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const client = fileURLToPath(new URL('../packages/client-python', import.meta.url))

/** The first moment that a wheel can state; wheels are zip files. */
const epochDefault = 315_532_800

/** Returns a Python that has hatchling, or undefined. */
export function pythonWithHatchling(): string | undefined {
  return ['python3', '/usr/bin/python3'].find((candidate) => {
    try {
      execFileSync(candidate, ['-c', 'import hatchling.build'], { stdio: 'ignore' })
      return true
    } catch {
      // Not installed, or without hatchling.
      return false
    }
  })
}

/** Resolves to the paths of the wheel and the source distribution. Throws if no Python here has hatchling. */
export async function packPython(outDir: string, epoch = epochDefault, packageDir = client): Promise<string[]> {
  const python = pythonWithHatchling()
  if (python === undefined) throw new Error('no python3 here has hatchling: install python3-hatchling')
  const out = path.resolve(outDir)
  await mkdir(out, { recursive: true })
  const before = new Set(await readdir(out))
  const code = 'import sys; from hatchling import build; build.build_wheel(sys.argv[1]); build.build_sdist(sys.argv[1])'
  const env = { PATH: process.env.PATH, SOURCE_DATE_EPOCH: String(epoch), PYTHONDONTWRITEBYTECODE: '1' }
  await promisify(execFile)(python, ['-c', code, out], { cwd: packageDir, env })
  const made = (await readdir(out)).filter((name) => !before.has(name) && /^annal-.*\.(whl|tar\.gz)$/.test(name))
  return made.sort().map((name) => path.join(out, name))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [outDir, epoch] = process.argv.slice(2)
  if (outDir === undefined) {
    console.error('usage: node scripts/pack-python.ts OUT [SOURCE_DATE_EPOCH]')
    process.exitCode = 64
  } else {
    for (const file of await packPython(outDir, epoch === undefined ? undefined : Number(epoch))) console.log(file)
  }
}
