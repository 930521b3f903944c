// What a test file uses that can make it answer differently from one run to the next, read from its text and from the texts of
// the test programs and sources it reaches.
import { closureOf, textOf } from './graph.mjs'

/** Looked for in the test file and the files of test folders that it reaches. */
const inTests = {
  processes:
    /node:child_process|\bstartProcess\b|\bspawn(Sync)?\(|\bexecFile|chromium|\brunCommand\b|from 'tsup'|vite|vitepress/,
  random: /\bchosenSeed\b|process\.env\.ANNAL_SEED|\bfast-check\b/,
  timers: /\bsetTimeout\(|\bsetInterval\(|node:timers|performance\.now|Date\.now|process\.hrtime/,
  sockets: /node:(net|http|https|tls|dgram)'|\bfetch\(|\blisten\(|\bundici\b|WebSocket/,
  threads: /node:worker_threads|\bopenWorkerPool\b|\bopenEngine\b|\bopenedEngine\b|\bopenApp\b|\brunningApp\b/,
}
/** Looked for in everything it reaches: a test that opens an engine uses its threads. */
const anywhere = {
  threads: /node:worker_threads|'piscina'/,
  sockets: /from 'fastify'/,
}

/** A set of: processes, threads, sockets, timers, random. */
export function traitsOf(graph, file) {
  const closure = [...closureOf(graph, file)]
  const traits = new Set()
  for (const [trait, pattern] of Object.entries(inTests))
    if (closure.some((one) => /(^|\/)test\//.test(one) && pattern.test(textOf(graph, one)))) traits.add(trait)
  for (const [trait, pattern] of Object.entries(anywhere))
    if (closure.some((one) => pattern.test(textOf(graph, one)))) traits.add(trait)
  return traits
}
