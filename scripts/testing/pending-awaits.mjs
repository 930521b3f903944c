// Says where the async functions of this process wait, for a test that does not end. V8 keeps each of them as an object that knows the line
// of its `await`; a heap snapshot finds the objects, and the inspector reads the lines. That takes a second or more, so it is for the end.
// For each line the inspector walks through the heap, so only functions of this repository are looked up, and no longer than `lookMsMax`.
import { readFileSync, rmSync } from 'node:fs'
import { Session } from 'node:inspector'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeHeapSnapshot } from 'node:v8'
import { root } from '../setup.mjs'

const linesMax = 30
/** Less than what a file that takes too long is given to end (`lastWordsMs` of run-files.mjs). */
const lookMsMax = 60_000

/**
 * Lines such as `packages/wal/test/lock.test.ts:12: await ended`, those of tests first, and in both parts what began first. A function is
 * left out if nothing is left that could resume it, because V8 has then removed it.
 */
export function pendingAwaits() {
  const session = new Session()
  session.connect()
  try {
    const scripts = new Map()
    session.on('Debugger.scriptParsed', ({ params }) => scripts.set(params.scriptId, params.url))
    session.post('Debugger.enable')
    const ids = generatorsOf(session)
    const endMs = performance.now() + lookMsMax
    const places = ids.flatMap((id) => (performance.now() < endMs && placeOf(session, id, scripts)) || [])
    const unique = [...new Map(places.map((place) => [`${place.file}:${place.line}`, place])).values()]
    const ordered = [...unique.filter(({ file }) => isTest(file)), ...unique.filter(({ file }) => !isTest(file))]
    return ordered.slice(0, linesMax).map(({ file, line }) => `${file}:${line}: ${textOf(file, line)}`)
  } finally {
    session.disconnect()
  }
}

/** The ids of the generators of this repository, which are what async functions are to V8, in the order of their creation. */
function generatorsOf(session) {
  session.post('HeapProfiler.enable')
  const file = writeHeapSnapshot(path.join(tmpdir(), `annal-awaits-${process.pid}.heapsnapshot`))
  const { snapshot, nodes, edges, strings } = JSON.parse(readFileSync(file, 'utf8'))
  rmSync(file)
  const { node_fields: fields, node_types: types, edge_fields: edgeFields } = snapshot.meta
  const object = types[0].indexOf('object')
  const [type, name, id, edgeCount] = ['type', 'name', 'id', 'edge_count'].map((field) => fields.indexOf(field))
  const [edgeName, edgeTo] = ['name_or_index', 'to_node'].map((field) => edgeFields.indexOf(field))
  const edgesAt = []
  for (let at = 0, edge = 0; at < nodes.length; at += fields.length) {
    edgesAt.push(edge)
    edge += nodes[at + edgeCount] * edgeFields.length
  }
  /** The node behind the first edge of that name, such as `function`; undefined without one. */
  const follow = (at, wanted) => {
    if (at === undefined) return undefined
    const first = edgesAt[at / fields.length]
    for (let edge = first; edge < first + nodes[at + edgeCount] * edgeFields.length; edge += edgeFields.length)
      if (strings[edges[edge + edgeName]] === wanted) return edges[edge + edgeTo]
    return undefined
  }
  const isOurs = (at) => {
    // A script has its URL for a name.
    const script = ['function', 'shared', 'script'].reduce(follow, at)
    const url = script === undefined ? '' : strings[nodes[script + name]]
    return url.startsWith('file:') && !url.includes('/node_modules/')
  }
  const ids = []
  for (let at = 0; at < nodes.length; at += fields.length) {
    const isGenerator = nodes[at + type] === object && /^(Async)?Generator$/.test(strings[nodes[at + name]])
    if (isGenerator && isOurs(at)) ids.push(nodes[at + id])
  }
  return ids.sort((a, b) => a - b)
}

/** Where a function of this repository waits; undefined if it does not, or is a function of others. */
function placeOf(session, id, scripts) {
  let place
  session.post('HeapProfiler.getObjectByHeapObjectId', { objectId: String(id) }, (gone, found) => {
    if (gone) return
    const { objectId } = found.result
    session.post('Runtime.getProperties', { objectId, ownProperties: true }, (failed, properties) => {
      if (failed) return
      const internal = new Map((properties.internalProperties ?? []).map(({ name, value }) => [name, value?.value]))
      if (internal.get('[[GeneratorState]]') !== 'suspended') return
      const { scriptId, lineNumber } = internal.get('[[GeneratorLocation]]') ?? {}
      const url = scripts.get(scriptId) ?? ''
      if (!url.startsWith('file:') || url.includes('/node_modules/')) return
      place = { file: path.relative(root, fileURLToPath(url)), line: lineNumber + 1 }
    })
  })
  return place
}

function isTest(file) {
  return /(^|\/)test\//.test(file)
}

function textOf(file, line) {
  return (readFileSync(path.join(root, file), 'utf8').split('\n')[line - 1] ?? '').trim()
}
