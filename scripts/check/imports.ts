// Who may import whom: between packages, between the rooms of the engine, and which outside modules belong behind a seam.
import path from 'node:path'
import { cycleFaults, folderCycleFaults } from './cycles.ts'
import { type SourceFile, sourceFiles } from './source-files.ts'

/** Package to the siblings it may import at run time. Types may come from anywhere below; tests may use any door. */
const siblings: Readonly<Record<string, readonly string[]>> = {
  wal: [],
  engine: ['wal'],
  server: ['engine', 'wal'],
  client: [],
  dashboard: ['client'],
  replay: ['wal', 'engine', 'client'],
  langchain: ['client'],
  cli: ['wal', 'engine', 'server', 'client', 'replay'],
}

/** Folders with a door of their own, which may know more than the rest of their package. */
const doors: Readonly<Record<string, readonly string[]>> = {
  'packages/client/src/embedded/': ['engine'],
}

/**
 * Files that take the types of a sibling by path, so that the build of their package writes them into its own declarations: the package
 * then has the types and does not need the sibling.
 */
const writtenInto: Readonly<Record<string, string>> = {
  'packages/client/src/model.ts': 'packages/engine/src/model/shared.ts',
}

/** Sources besides those of packages: what AssemblyScript compiles, and programs that are not published. */
const besides = ['packages/engine/assembly', 'packages/server/assembly', 'benchmarks/src', 'scripts']

/** Rooms of engine/src from the bottom up; a file imports from its own level or below. */
const engineLevels: readonly (readonly string[])[] = [
  ['errors', 'limits', 'disk-errors', 'file-damage', 'admission', 'memory', 'node-version', 'wait-limit'],
  ['model', 'events', 'requests', 'defaults', 'text'],
  ['filter', 'vector', 'worker', 'catalog', 'health', 'progress'],
  ['input'],
  ['originals'],
  ['sharing'],
  ['replica'],
  ['search', 'snapshot'],
  [
    'commit',
    'recovery',
    'tail-applier',
    'log-opener',
    'backup',
    'past',
    'calibration',
    'history',
    'readers',
    'feed',
    'embed',
  ],
  ['collection'],
  ['control', 'catalog-writes', 'naming'],
  ['database'],
  ['engine'],
  ['restore-data-directory', 'verify'],
  ['index', 'reader', 'replicated', 'testing'],
]

/** Folders that must not import each other, and where they meet instead. */
const strangers: readonly { readonly folders: readonly string[]; readonly meet: string }[] = [
  {
    folders: ['dense', 'sparse', 'threads'].map((name) => `packages/engine/src/vector/${name}/`),
    meet: 'vector/pool.ts is the interface, vector/attach.ts and vector/open-pool.ts connect them',
  },
]

/** Modules that only the named places may know. */
const seams: readonly {
  readonly module: RegExp
  readonly among: RegExp
  readonly only: RegExp
  /** False: types may be imported. */
  readonly typesToo?: boolean
  readonly why: string
}[] = [
  {
    module: /^(node:)?fs(\/promises)?$|^fs-extra$/,
    among: /^packages\/(wal|engine)\/src\//,
    only: /^packages\/wal\/src\/(node-vfs|lock|tool|testing\/)|^packages\/engine\/src\/vector\/(own-files|dense\/kernel|sparse\/kernel|threads\/thread-state|address-space)|^packages\/engine\/src\/admission\/memory-reading/,
    why: 'the disk is reached through the Vfs seam',
  },
  {
    module: /^piscina$/,
    among: /^packages\//,
    only: /^packages\/engine\/src\/vector\/threads\//,
    why: 'worker threads belong to vector/threads/',
  },
  {
    module: /^node:worker_threads$/,
    among: /^packages\/engine\/src\//,
    only: /^packages\/engine\/src\/(vector\/threads\/|worker\.ts|.*reader)/,
    why: 'worker threads belong to vector/threads/',
  },
  {
    module: /^node:http$/,
    among: /^packages\/server\/src\//,
    only: /^$/,
    typesToo: false,
    why: 'an import loads the implementation of fetch with it; node-modules.ts loads it without',
  },
  { module: /^fastify/, among: /^packages\//, only: /^packages\/server\//, why: 'only the server knows HTTP' },
]

export async function importFaults(): Promise<string[]> {
  const faults: string[] = []
  for (const name of Object.keys(siblings)) {
    const files = await sourceFiles(`packages/${name}/src`)
    for (const file of files) faults.push(...siblingFaults(file, name), ...seamFaults(file), ...strangerFaults(file))
    if (name === 'engine') for (const file of files) faults.push(...levelFaults(file))
    faults.push(...cycleFaults(files), ...folderCycleFaults(files))
  }
  for (const folder of besides) {
    const files = await sourceFiles(folder)
    faults.push(...cycleFaults(files), ...folderCycleFaults(files))
  }
  return faults
}

function siblingFaults(file: SourceFile, name: string): string[] {
  const faults: string[] = []
  for (const { specifier, typeOnly } of file.imports) {
    const sibling = /^@annal\/([^/]+)(\/.*)?$/.exec(specifier)
    if (sibling?.[2]?.startsWith('/src')) faults.push(`${file.path}: deep import of ${specifier}`)
    const allowed = doors[file.path.replace(/[^/]+$/, '')] ?? siblings[name]
    if (sibling && sibling[1] !== name && !typeOnly && !allowed?.includes(sibling[1] as string)) {
      faults.push(`${file.path}: ${name} may not import ${specifier}`)
    }
    if (!specifier.startsWith('.')) continue
    const target = path.posix.join(path.posix.dirname(file.path), specifier)
    const mayLeave = typeOnly && writtenInto[file.path] === target
    if (!mayLeave && !target.startsWith(`packages/${name}/`)) {
      faults.push(`${file.path}: ${specifier} leaves the package`)
    }
  }
  return faults
}

function seamFaults(file: SourceFile): string[] {
  return seams
    .filter((seam) => seam.among.test(file.path) && !seam.only.test(file.path))
    .flatMap((seam) =>
      file.imports
        .filter(({ specifier, typeOnly }) => seam.module.test(specifier) && !(typeOnly && seam.typesToo === false))
        .map(({ specifier }) => `${file.path}: imports ${specifier}, but ${seam.why}`),
    )
}

function strangerFaults(file: SourceFile): string[] {
  return strangers.flatMap(({ folders, meet }) => {
    const own = folders.find((folder) => file.path.startsWith(folder))
    if (own === undefined) return []
    const others = folders.filter((folder) => folder !== own)
    return relativeImports(file)
      .filter((target) => others.some((folder) => target.startsWith(folder)))
      .map((target) => `${file.path}: imports ${target}, but ${meet}`)
  })
}

function levelFaults(file: SourceFile): string[] {
  const own = engineLevel(file.path)
  if (own < 0) return [`${file.path}: is in no room that scripts/check/imports.ts knows`]
  return relativeImports(file)
    .filter((target) => engineLevel(target) > own)
    .map((target) => `${file.path}: imports upward from ${target}`)
}

function engineLevel(file: string): number {
  const room = file.replace('packages/engine/src/', '').replace(/\.ts$/, '').split('/')[0] as string
  return engineLevels.findIndex((level) => level.includes(room))
}

function relativeImports(file: SourceFile): string[] {
  return file.imports
    .filter(({ specifier }) => specifier.startsWith('.'))
    .map(({ specifier }) => path.posix.join(path.posix.dirname(file.path), specifier))
}
