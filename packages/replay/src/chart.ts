// Line charts over the course of a replay, as SVG. The page sets colors and fonts.

export interface Line {
  readonly name: string
  readonly points: readonly (readonly [x: number, y: number])[]
}

const [width, height] = [560, 220]
const [left, right, top, bottom] = [64, 24, 12, 28]

/** Several lines over the share of the log, from 0 to 1. */
export function chart(lines: readonly Line[], shown: (value: number) => string): string {
  const values = lines.flatMap(({ points }) => points.map(([, y]) => y)).filter(Number.isFinite)
  if (values.length === 0) return '<p class="none">nothing measured</p>'
  const { low, high, step } = scaleOf(Math.min(...values), Math.max(...values))
  const x = (share: number) => left + share * (width - left - right)
  const y = (value: number) => top + (1 - (value - low) / (high - low)) * (height - top - bottom)
  const grid = Array.from({ length: Math.round((high - low) / step) + 1 }, (_, i) => low + i * step).map(
    (value) =>
      `<line class="grid" x1="${left}" x2="${width - right}" y1="${round(y(value))}" y2="${round(y(value))}"/>` +
      `<text x="${left - 6}" y="${round(y(value) + 4)}" text-anchor="end">${escaped(shown(value))}</text>`,
  )
  const shares = [0, 0.25, 0.5, 0.75, 1].map(
    (share) => `<text x="${round(x(share))}" y="${height - 8}" text-anchor="middle">${share * 100} %</text>`,
  )
  const drawn = lines.map(({ name, points }, i) => {
    const finite = points.filter(([, value]) => Number.isFinite(value))
    const path = finite.map(([share, value]) => `${round(x(share))},${round(y(value))}`).join(' ')
    return `<polyline class="line line-${i % 6}" points="${path}"><title>${escaped(name)}</title></polyline>`
  })
  return `<svg viewBox="0 0 ${width} ${height}" role="img">${grid.join('')}${shares.join('')}${drawn.join('')}</svg>`
}

/** Round numbers around the shown values. */
function scaleOf(least: number, most: number): { readonly low: number; readonly high: number; readonly step: number } {
  const span = most - least || Math.abs(most) || 1
  const magnitude = 10 ** Math.floor(Math.log10(span / 4))
  const step = [1, 2, 5, 10].map((factor) => factor * magnitude).find((size) => span / size <= 5) ?? 10 * magnitude
  // Starts at zero unless that would flatten the line.
  const low = least > 0 && least < span * 2 ? 0 : Math.floor(least / step) * step
  const high = Math.max(low + step, Math.ceil(most / step) * step)
  return { low, high, step }
}

function round(value: number): string {
  return value.toFixed(1)
}

export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`)
}
