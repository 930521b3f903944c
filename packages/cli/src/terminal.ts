// Where a command writes: results to one stream, messages to the other, and a progress bar on a terminal.

export interface Terminal {
  /** Writes a result to standard output. */
  line(text: string): void
  /** Writes a message for the user to standard error. */
  say(text: string): void
  /** Shows a progress bar on a terminal; one at a time. */
  readonly bar: ProgressBar
}

export interface ProgressBar {
  /** `total` is undefined if the total is unknown. */
  show(label: string, done: number, total: number | undefined): void
  /** Removes the bar. */
  clear(): void
}

const barCells = 30
const barEveryMs = 100

export function terminal(): Terminal {
  const bar = process.stderr.isTTY ? drawnBar(process.stderr) : silentBar
  return {
    line(text) {
      bar.clear()
      process.stdout.write(`${text}\n`)
    },
    say(text) {
      bar.clear()
      process.stderr.write(`${text}\n`)
    },
    bar,
  }
}

export const silentBar: ProgressBar = { show: () => undefined, clear: () => undefined }

function drawnBar(stream: NodeJS.WriteStream): ProgressBar {
  let shownAt = 0
  let shown = false
  return {
    show(label, done, total) {
      const now = performance.now()
      if (now - shownAt < barEveryMs) return
      shownAt = now
      shown = true
      stream.write(`\r\x1b[K${drawn(label, done, total).slice(0, stream.columns - 1)}`)
    },
    clear() {
      if (shown) stream.write('\r\x1b[K')
      shown = false
    },
  }
}

export function drawn(label: string, done: number, total: number | undefined): string {
  if (total === undefined || total <= 0) return `${label} ${amount(done)}`
  const share = Math.min(1, done / total)
  const full = Math.round(share * barCells)
  const percent = String(Math.floor(share * 100)).padStart(3)
  return `${label} [${'#'.repeat(full)}${'-'.repeat(barCells - full)}] ${percent} %  ${amount(done)} of ${amount(total)}`
}

/** With thousands separators. */
export function amount(value: number): string {
  return value.toLocaleString('en-US')
}

export function bytesText(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB']
  let [value, unit] = [bytes, 0]
  while (value >= 1_000 && unit < units.length - 1) [value, unit] = [value / 1_000, unit + 1]
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}
