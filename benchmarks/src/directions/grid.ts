// What was measured on one set, as a table, and all sets as a picture of colored cells.
import type { Direction } from './directions.ts'

/** Recall, CPU time in ms, and comparisons of the searches of one cell at one ef. */
export interface Step {
  readonly ef: number
  readonly recall: number
  readonly cpu: number
  readonly compared: number
}

export interface Cell {
  readonly direction: Direction
  readonly share: number
  /** At the ef of the run. */
  readonly plain: Step
  /** CPU time at that ef, divided by that of a search without a filter at the same ef. */
  readonly costAtEf: number
  /** The step of least CPU time whose recall is at least `recallLeast`; undefined if no ef reaches it. */
  readonly reached: Step | undefined
  /** CPU time of that step, divided by that of the reference. */
  readonly cost: number | undefined
  /** How much farther the last result is than the last of the true ones, as a share of its distance; undefined for inner products. */
  readonly excess: number | undefined
  readonly plan: string
}

export interface Grid {
  readonly name: string
  readonly directions: readonly Direction[]
  readonly shares: readonly number[]
  readonly plain: Step
  /** The search without a filter of least CPU time whose recall is at least `recallLeast`: what costs are divided by. */
  readonly reference: Step
  readonly cells: readonly Cell[]
}

const recallLeast = 0.95
const costMost = 3

/** The step of least CPU time that has the required recall. */
export function cheapest(steps: readonly Step[]): Step | undefined {
  return steps.filter(({ recall }) => recall >= recallLeast).sort((a, b) => a.cpu - b.cpu)[0]
}

export function isGood({ cost }: Cell): boolean {
  return cost !== undefined && cost <= costMost
}

/** The lines of a table in Markdown. */
export function tableOf({ name, plain, reference, directions, shares, cells }: Grid): string[] {
  const text = (cell: Cell | undefined) => {
    if (cell === undefined) return ''
    const { recall, compared } = cell.plain
    const excess = cell.excess === undefined || recall >= recallLeast ? '' : `, +${(cell.excess * 100).toFixed(2)} %`
    const plan = cell.plan === 'compare' ? ', scan' : cell.plan === 'walk' ? '' : `, ${cell.plan}`
    const needed = cell.cost === undefined ? 'not reached' : `${cell.cost.toFixed(2)} (ef ${cell.reached?.ef})`
    const figures = `${recall.toFixed(3)} at ${cell.costAtEf.toFixed(2)}, ${Math.round(compared)}${excess}; ${needed}${plan}`
    return isGood(cell) ? figures : `**${figures}**`
  }
  const find = (direction: Direction, share: number) =>
    cells.find((cell) => cell.direction === direction && cell.share === share)
  const describe = ({ ef, recall, cpu, compared }: Step) =>
    `recall ${recall.toFixed(4)} with ${Math.round(compared).toLocaleString('en')} comparisons in ${cpu.toFixed(4)} ms at ef ${ef}`
  return [
    `## ${name}`,
    '',
    `Without a filter: ${describe(plain)}. Reference: ${describe(reference)}.`,
    '',
    `| direction | ${shares.map((share) => `${share * 100} %`).join(' | ')} |`,
    `|---|${shares.map(() => '---').join('|')}|`,
    ...directions.map((one) => `| ${one} | ${shares.map((share) => text(find(one, share))).join(' | ')} |`),
    '',
  ]
}

const [cellWidth, cellHeight, left, gap] = [120, 24, 90, 46]

/** One block of cells for each set: the color is the recall, the text the recall and the cost. */
export function drawGrid(grids: readonly Grid[]): string {
  let top = 10
  const parts: string[] = []
  for (const { name, directions, shares, cells } of grids) {
    parts.push(`<text x="10" y="${top + 14}" font-weight="bold">${name}</text>`)
    shares.forEach((share, i) => {
      parts.push(`<text x="${left + i * cellWidth + 4}" y="${top + 34}">${share * 100} %</text>`)
    })
    directions.forEach((direction, row) => {
      const y = top + 40 + row * cellHeight
      parts.push(`<text x="10" y="${y + 16}">${direction}</text>`)
      shares.forEach((share, i) => {
        const cell = cells.find((one) => one.direction === direction && one.share === share)
        if (cell === undefined) return
        const color = cell.cost === undefined ? '#f4a6a6' : isGood(cell) ? '#b9e2b4' : '#f6dc9c'
        const x = left + i * cellWidth
        parts.push(`<rect x="${x}" y="${y}" width="${cellWidth - 2}" height="${cellHeight - 2}" fill="${color}"/>`)
        parts.push(
          `<text x="${x + 4}" y="${y + 16}">${cell.plain.recall.toFixed(3)}  ${cell.cost === undefined ? '-' : `${cell.cost.toFixed(1)} x`}</text>`,
        )
      })
    })
    top += 40 + directions.length * cellHeight + gap
  }
  const width = left + cellWidth * Math.max(0, ...grids.map(({ shares }) => shares.length)) + 10
  const legend = `<text x="10" y="${top}">recall@10 at the ef of the run, and CPU time at which recall is ${recallLeast}, relative to a search without a filter; green: at most ${costMost} x; red: not reached</text>`
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${top + 20}" font-family="sans-serif" font-size="12">\n${[...parts, legend].join('\n')}\n</svg>\n`
}
