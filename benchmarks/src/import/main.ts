// The cost of `annal import` of an NPY file compared with HTTP alone: Fashion-MNIST into a new server each time, in alternating pairs. HTTP
// alone sends prepared requests over raw sockets, 1,000 vectors each, as the published clients do. The time of an import is that of its whole
// process, including the start of Node.js.
//
//   npm run bench:import -- --data DIR [--pairs 3]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect, denseField } from '@annal/client'
import { sendInTurn } from '../http/connection.ts'
import { createRequest, insertRequest } from '../http/requests.ts'
import { type BenchedServer, startServer } from '../http/server-process.ts'
import { readOptions } from '../options.ts'
import { readDataset } from '../sets/dataset.ts'

const values = readOptions({ data: String, pairs: 3 })
if (values.data === undefined) throw new Error('--data DIR must name the folder that contains fashion-mnist')
const batch = 1_000
const field = 'dense'

const { base, dimension } = await readDataset(values.data, 'fashion-mnist')
const sender = { headers: ['Host: localhost'] }
const rows = base.length / dimension
const requests = Array.from({ length: rows / batch }, (_, i) =>
  insertRequest(sender, 'a', {
    rows: base.subarray(i * batch * dimension, (i + 1) * batch * dimension),
    dimension,
    first: i * batch,
  }),
)
const folder = await mkdtemp(path.join(tmpdir(), 'annal-import-'))
const file = path.join(folder, 'base.npy')
await writeNpy(file)
console.log(
  `Fashion-MNIST, ${rows} x ${dimension}, l2, int8; ${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, Node ${process.version}`,
)
try {
  const ratios: number[] = []
  for (let pair = 0; pair < values.pairs; pair++) {
    const raw = await withServer(loadOverHttp)
    const imported = await withServer(runImport)
    ratios.push(imported / raw)
    console.log(
      `HTTP alone ${raw.toFixed(2)} s, import ${imported.toFixed(2)} s, ${(imported / raw).toFixed(2)} times; load ${loadavg()[0]?.toFixed(1)}`,
    )
  }
  ratios.sort((a, b) => a - b)
  console.log(`median ${ratios[Math.floor(ratios.length / 2)]?.toFixed(2)} times`)
} finally {
  await rm(folder, { recursive: true, force: true })
}

/** Runs `work`, which returns its seconds, with a server on an empty directory. */
async function withServer(work: (server: BenchedServer) => Promise<number>): Promise<number> {
  const dir = path.join(folder, 'data')
  const server = await startServer({ dataDir: dir })
  try {
    return await work(server)
  } finally {
    await server.stop()
    await rm(dir, { recursive: true, force: true })
  }
}

async function loadOverHttp({ port }: BenchedServer): Promise<number> {
  const target = { host: '127.0.0.1', port }
  await sendInTurn(target, [createRequest(sender, { name: 'a', dimension, space: 'l2' })])
  const begun = performance.now()
  await sendInTurn(target, requests)
  return (performance.now() - begun) / 1_000
}

async function runImport({ port }: BenchedServer): Promise<number> {
  const url = `http://127.0.0.1:${port}`
  await using client = connect({ url })
  const a = await client.createCollection({ name: 'a', fields: [denseField(field, { dimension, spaceType: 'l2' })] })
  const annal = fileURLToPath(new URL('../../../packages/cli/src/annal.ts', import.meta.url))
  const begun = performance.now()
  const args = ['--conditions=annal-source', annal, 'import', 'a', file, '--server', url]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const [code] = await once(child, 'close')
  const seconds = (performance.now() - begun) / 1_000
  if (code !== 0) throw new Error(`annal import exited with code ${code}`)
  const stored = await a.count()
  if (stored !== rows) throw new Error(`${stored} of ${rows} vectors are stored`)
  return seconds
}

async function writeNpy(name: string): Promise<void> {
  const text = `{'descr': '<f4', 'fortran_order': False, 'shape': (${rows}, ${dimension}), }`
  const header = Buffer.alloc(128, ' ')
  header.write('\x93NUMPY\x01\x00', 'latin1')
  header.writeUInt16LE(header.length - 10, 8)
  header.write(text, 10)
  header.write('\n', header.length - 1)
  await using handle = await open(name, 'w')
  await handle.write(header)
  await handle.writeFile(Buffer.from(base.buffer, base.byteOffset, base.byteLength))
}
