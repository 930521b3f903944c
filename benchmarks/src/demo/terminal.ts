// Output of the demo: headings, lines, and a progress bar, or occasional lines if the output is not a terminal.
import { styleText } from 'node:util'

const barWidth = 32
const linesEveryMs = 5_000

export interface Terminal {
  title(text: string): void
  line(label: string, text: string): void
  verdict(ok: boolean, text: string): void
  progress(label: string, total: number): { advance(count: number): void; end(): void }
}

export function terminal(stream: NodeJS.WriteStream): Terminal {
  const print = (text: string) => stream.write(`${text}\n`)
  return {
    title: (text) => print(`\n${styleText('bold', text, { stream })}`),
    line: (label, text) => print(`  ${styleText('dim', label.padEnd(26), { stream })} ${text}`),
    verdict: (ok, text) =>
      print(`  ${ok ? styleText('green', 'ok    ', { stream }) : styleText('red', 'MISSED', { stream })} ${text}`),
    progress: (label, total) => (stream.isTTY ? bar(stream, label, total) : lines(print, label, total)),
  }
}

function bar(stream: NodeJS.WriteStream, label: string, total: number) {
  const startedMs = performance.now()
  let done = 0
  let drawnMs = 0
  const draw = () => {
    const filled = Math.round((done / total) * barWidth)
    const rate = done / Math.max((performance.now() - startedMs) / 1_000, 0.001)
    const shape = '█'.repeat(filled) + '░'.repeat(barWidth - filled)
    stream.write(
      `\r  ${label} ${shape} ${formatCount(done)} of ${formatCount(total)}  ${formatCount(Math.round(rate))}/s \u001b[K`,
    )
  }
  return {
    advance(count: number) {
      done += count
      if (performance.now() - drawnMs < 100) return
      drawnMs = performance.now()
      draw()
    },
    end: () => void stream.write('\r\u001b[K'),
  }
}

/** Prints an occasional line instead of a progress bar. */
function lines(print: (text: string) => void, label: string, total: number) {
  let done = 0
  let printedMs = performance.now()
  return {
    advance(count: number) {
      done += count
      if (performance.now() - printedMs < linesEveryMs) return
      printedMs = performance.now()
      print(`  ${label} ${formatCount(done)} of ${formatCount(total)}`)
    },
    end: () => undefined,
  }
}

export function formatCount(count: number): string {
  return count.toLocaleString('en')
}
