// The progress bar: drawn on a terminal, cut to its width, removed without a trace, and never written anywhere else.
import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { test } from 'tap'
import { progressBar } from '../src/progress-bar.ts'

/** A stream that keeps what is written, as a terminal or as a pipe. */
function recorded({ isTTY, columns }: { readonly isTTY: boolean; readonly columns: number }) {
  const written: string[] = []
  const stream = Object.assign(new PassThrough(), { isTTY, columns })
  stream.on('data', (bytes: Buffer) => written.push(bytes.toString()))
  // The bar writes, and asks for the width; a socket of a terminal does nothing more here.
  return { stream: stream as unknown as NodeJS.WriteStream, written }
}

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

test('a bar shows the share, the amounts and the label of the work', (t) => {
  const { stream, written } = recorded({ isTTY: true, columns: 120 })
  const before = timers()
  const bar = progressBar(stream)
  bar.show('importing into films', 0, 40_000)
  bar.show('importing into films', 30_000, 40_000)
  bar.clear()
  const lines = written.map(stripVTControlCharacters).filter((text) => text !== '')
  t.equal(lines[0], `importing into films [${'-'.repeat(30)}]   0 %  0 of 40,000`)
  t.match(lines.at(-1), /^importing into films \[#{23}-{7}\] {2}75 % {2}30,000 of 40,000$/)
  t.equal(written.at(-1), '\x1b[2K', 'the line is cleared at the end')
  t.notMatch(written.join(''), '\n', 'nothing stays above the output that follows')
  t.notMatch(written.join(''), '\x1b[?', 'the settings of the terminal stay')
  t.equal(timers(), before, 'a removed bar does not keep the process running')
  bar.clear()
  t.equal(written.at(-1), '\x1b[2K')
  t.end()
})

test('work without a known total shows its amount, and another label starts another bar', (t) => {
  const { stream, written } = recorded({ isTTY: true, columns: 120 })
  const bar = progressBar(stream)
  bar.show('verifying', 1_234_567, undefined)
  bar.show('verifying log', 1, 2)
  bar.show('verifying checkpoints', 1, undefined)
  bar.clear()
  const lines = written.map(stripVTControlCharacters).filter((text) => text !== '')
  t.equal(lines[0], 'verifying 1,234,567')
  t.ok(lines.some((line) => line.startsWith('verifying log [') && line.endsWith('50 %  1 of 2')))
  t.equal(lines.at(-1), 'verifying checkpoints 1')
  t.end()
})

test('a bar is no wider than the terminal', (t) => {
  const { stream, written } = recorded({ isTTY: true, columns: 40 })
  const bar = progressBar(stream)
  bar.show('exporting a-collection-with-a-long-name', 5, 10)
  bar.clear()
  const widest = Math.max(...written.map((text) => stripVTControlCharacters(text).length))
  t.equal(widest, 40)
  t.end()
})

test('nothing is written to a stream that is not a terminal', (t) => {
  const { stream, written } = recorded({ isTTY: false, columns: 80 })
  const bar = progressBar(stream)
  bar.show('importing into films', 1, 2)
  bar.clear()
  t.strictSame(written, [])
  t.end()
})
