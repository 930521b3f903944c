// `node scripts/pack.ts OUT [NAME ...]`: makes of every package, or of those named, the tarball that is published. Expects that
// `npm run build` was done. What only this repository needs is left out: the condition that points at sources, scripts,
// development dependencies; the license is put in. The same contents give the same bytes, whatever the folder, the time, and the umask.
import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../', import.meta.url))

/** In the order in which they would be published: each after those it needs. */
export const publishedPackages = [
  'wal',
  'engine',
  'dashboard',
  'server',
  'client',
  'langchain',
  'replay',
  'cli',
] as const

interface Manifest {
  readonly files?: readonly string[]
  readonly exports?: { readonly [door: string]: string | { readonly [condition: string]: string } }
  readonly [member: string]: unknown
}

/** Resolves to the tarballs' paths. */
export async function packAll(outDir: string, names: readonly string[] = publishedPackages): Promise<string[]> {
  const tarballs: string[] = []
  for (const name of names) tarballs.push(await packOne(path.join(root, 'packages', name), outDir))
  return tarballs
}

/** Resolves to the path of the tarball. */
export async function packOne(packageDir: string, outDir: string): Promise<string> {
  await mkdir(outDir, { recursive: true })
  const stage = await mkdtemp(path.join(os.tmpdir(), 'annal-pack-'))
  try {
    // The file is ours, and npm checked its shape when it installed the workspaces.
    const manifest = JSON.parse(await readFile(path.join(packageDir, 'package.json'), 'utf8')) as Manifest
    for (const name of manifest.files ?? []) {
      await cp(path.join(packageDir, name), path.join(stage, name), { recursive: true })
    }
    await cp(path.join(packageDir, 'README.md'), path.join(stage, 'README.md'))
    await cp(path.join(root, 'LICENSE'), path.join(stage, 'LICENSE'))
    await writeFile(path.join(stage, 'package.json'), `${JSON.stringify(published(manifest), null, 2)}\n`)
    await setModes(stage)
    const args = ['pack', '--json', '--pack-destination', path.resolve(outDir), '--loglevel=error']
    const { stdout } = await promisify(execFile)('npm', args, { cwd: stage })
    const name = /"filename": "([^"]+)"/.exec(stdout)?.[1]
    if (name === undefined) throw new Error(`npm pack said no file name: ${stdout}`)
    return path.join(path.resolve(outDir), name)
  } finally {
    await rm(stage, { recursive: true })
  }
}

/** npm packs the modes that files have here, which depend on the umask. Everybody may read these, and run what the builder may run. */
async function setModes(folder: string): Promise<void> {
  for (const name of await readdir(folder, { recursive: true })) {
    const file = path.join(folder, name)
    await chmod(file, ((await stat(file)).mode & 0o100) === 0 ? 0o644 : 0o755)
  }
}

function published({ scripts: _, devDependencies: __, exports: doors = {}, ...rest }: Manifest): Manifest {
  const exports = Object.fromEntries(
    Object.entries(doors).map(([door, target]) => {
      if (typeof target === 'string') return [door, target]
      const { 'annal-source': ___, ...conditions } = target
      return [door, conditions]
    }),
  )
  return { ...rest, exports }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [outDir, ...names] = process.argv.slice(2)
  if (outDir === undefined) {
    console.error('usage: node scripts/pack.ts OUT [NAME ...]')
    process.exitCode = 64
  } else {
    for (const tarball of await packAll(outDir, names.length > 0 ? names : publishedPackages)) console.log(tarball)
  }
}
