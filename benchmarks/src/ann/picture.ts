// Draws recall against speed as SVG: one line for each contender, speed on a logarithmic scale.
import type { Point } from './contender.ts'

export interface Curve {
  readonly label: string
  readonly points: readonly Point[]
}

export function drawCurves(title: string, curves: readonly Curve[]): string {
  const [width, height, left, top] = [900, 560, 70, 20]
  const speeds = curves.flatMap(({ points }) => points.map(({ speed }) => Math.log10(speed)))
  const [low, high] = [Math.floor(Math.min(...speeds) * 5) / 5, Math.ceil(Math.max(...speeds) * 5) / 5]
  // Recall is spread toward 1 by the logarithm of the share that is missed.
  const missed = (recall: number) => Math.min(4, -Math.log10(Math.max(1e-4, 1 - recall)))
  const x = (recall: number) => left + (missed(recall) / 4) * (width - left - 240)
  const y = (speed: number) => top + ((high - Math.log10(speed)) / (high - low)) * (height - top - 50)
  const colors = ['#1f77b4', '#ff7f0e', '#2ca02c', '#d62728', '#9467bd', '#8c564b', '#e377c2', '#7f7f7f']
  const lines = curves.map(({ label, points }, i) => {
    const color = colors[i % colors.length]
    const path = points.map(({ recall, speed }) => `${x(recall).toFixed(1)},${y(speed).toFixed(1)}`).join(' ')
    const text = `<text x="${width - 230}" y="${top + 20 + i * 20}" fill="${color}">${label}</text>`
    return `<polyline fill="none" stroke="${color}" stroke-width="2" points="${path}"/>${text}`
  })
  const marks = [0.5, 0.9, 0.95, 0.99, 0.995, 0.999].map(
    (recall) =>
      `<text x="${x(recall)}" y="${height - 25}" text-anchor="middle">${recall}</text><line x1="${x(recall)}" y1="${top}" x2="${x(recall)}" y2="${height - 50}" stroke="#ddd"/>`,
  )
  const ticks = [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5]
    .filter((speed) => Math.log10(speed) >= low && Math.log10(speed) <= high)
    .map((speed) => `<text x="${left - 8}" y="${y(speed) + 4}" text-anchor="end">${speed}</text>`)
  const frame = `<text x="${left}" y="${height - 6}">${title}: recall, queries per CPU second</text>`
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="13">\n${[...marks, ...ticks, ...lines, frame].join('\n')}\n</svg>\n`
}
