// The examples of doc comments, as programs, and the public calls that lack one.
import path from 'node:path'
import ts from 'typescript'
import { type Compiled, root, type Source } from './compiler.ts'

export interface Door {
  readonly module: string
  readonly file: string
  /** Declares what the examples use. */
  readonly preamble: string
  /** Calls that programs provide and the library makes, and the methods of values, which their types explain. */
  readonly without: readonly string[]
}

/** The accessors of hits. */
const hitBytes = [
  'copyFilter',
  'copyId',
  'copyMeta',
  'distance',
  'expiresAt',
  'filterBytes',
  'idBytes',
  'metaBytes',
  'norm',
  'similarity',
].map((name) => `HitBytes.${name}`)

/** Calls that only the server has a use for. */
const ofServer = [
  'KeyedRequest.digest',
  'KeyedRequest.readWhole',
  'RequestClaim.addFacts',
  'RequestClaim.continueUntil',
  'asOfBatch',
  'asOfPage',
  'checkedActor',
  'holdCheckpoint',
  'memoryLimit',
  'newestCheckpointLsn',
  'newestCheckpointReach',
  'writtenBy',
]

const films = `{ readonly plot: 'vector'; readonly words: 'sparse' }`

export const doors: readonly Door[] = [
  {
    module: '@annal/engine',
    file: path.join(root, 'packages/engine/src/index.ts'),
    preamble: `declare const engine: import('@annal/engine').Engine
declare const database: import('@annal/engine').Database
declare const reader: import('@annal/engine/reader').Reader
declare const films: import('@annal/engine').Collection<${films}>
`,
    without: ['AnswerRoom.take', 'Clock.monotonic', 'Clock.now', ...hitBytes, 'SearchHit.toJSON', ...ofServer].sort(),
  },
  {
    module: '@annal/engine/reader',
    file: path.join(root, 'packages/engine/src/reader.ts'),
    preamble: `declare const reader: import('@annal/engine/reader').Reader
declare const films: import('@annal/engine').Collection<${films}>
`,
    without: hitBytes,
  },
  {
    module: '@annal/client',
    file: path.join(root, 'packages/client/src/index.ts'),
    preamble: `declare const client: import('@annal/client').Client
declare const films: import('@annal/client').Collection<${films}>
declare const songs: import('@annal/client').VectorIndex
`,
    without: ['Transport.call', 'Transport.close'],
  },
  {
    module: '@annal/client/embedded',
    file: path.join(root, 'packages/client/src/embedded/index.ts'),
    preamble: '',
    without: [],
  },
]

export interface Example extends Source {
  readonly call: string
}

/** Public calls by name: functions, and methods of classes and interfaces, unless they are deprecated. */
function* callsOf(door: Door, compiled: Compiled): Generator<[name: string, node: ts.Node]> {
  for (const [name, symbol] of compiled.exportsOf(door.file)) {
    for (const node of symbol.declarations ?? []) {
      // Types of another package have their examples there.
      if (!node.getSourceFile().fileName.startsWith(path.join(path.dirname(door.file), '/'))) continue
      if (ts.isFunctionDeclaration(node)) yield [name, node]
      if (!ts.isClassDeclaration(node) && !ts.isInterfaceDeclaration(node)) continue
      for (const member of node.members) {
        if (!ts.isMethodDeclaration(member) && !ts.isMethodSignature(member)) continue
        if (!ts.isIdentifier(member.name) || ts.getJSDocDeprecatedTag(member)) continue
        yield [`${name}.${member.name.text}`, member]
      }
    }
  }
}

/** Names of calls without an example. Of a call with several signatures one has it. */
export function withoutExample(door: Door, compiled: Compiled): readonly string[] {
  const found = new Map<string, boolean>()
  for (const [name, node] of callsOf(door, compiled))
    found.set(name, (found.get(name) ?? false) || codeOf(node).length > 0)
  return [...found].flatMap(([name, has]) => (has ? [] : [name]))
}

function codeOf(node: ts.Node): readonly string[] {
  return ts
    .getJSDocTags(node)
    .filter(({ tagName }) => tagName.text === 'example')
    .map(({ comment }) => ts.getTextOfJSDocComment(comment) ?? '')
    .map((text) => /```ts\n([\s\S]*?)```/.exec(text)?.[1] ?? '')
}

/** An example may declare again what its preamble declares. `folder` is where its imports are resolved. */
export function examplesOf(door: Door, compiled: Compiled, folder: string): readonly Example[] {
  const values = [...compiled.exportsOf(door.file)].filter(([, { flags }]) => flags & ts.SymbolFlags.Value)
  const names = values.map(([name]) => name)
  return [...callsOf(door, compiled)].flatMap(([call, node], at) =>
    codeOf(node).map((code, i) => {
      const imports = code.match(/^import .*\n/gm)?.join('') ?? ''
      const body = code.replace(/^import .*\n/gm, '')
      const used = names.filter((name) => new RegExp(`\\b${name}\\b`).test(body) && !imports.includes(name))
      const text = `${imports}import { ${used.join(', ')} } from '${door.module}'
${door.preamble}async function example() {
${body}
}
`
      return { call, text, file: path.join(folder, `example-${door.module.replace(/\W/g, '-')}-${at}-${i}.ts`) }
    }),
  )
}
