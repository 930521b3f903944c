// A line chart over time with values under the pointer and a text description for screen readers.
import { useRef, useState } from 'preact/hooks'
import { dateTime } from '../../show.ts'

export interface Line {
  readonly name: string
  readonly color: string
  readonly values: readonly (number | undefined)[]
}

const width = 400
const height = 110
const steps = [1, 2, 2.5, 5, 10]

export function Chart(props: {
  readonly title: string
  readonly times: readonly number[]
  readonly lines: readonly Line[]
  readonly show: (value: number) => string
}) {
  const { times, lines, show } = props
  const [pointed, setPointed] = useState<number>()
  const box = useRef<SVGSVGElement>(null)
  const top = niceTop(Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0))))
  const last = times.length - 1
  const i = pointed === undefined ? last : Math.min(pointed, last)
  const x = (n: number) => (last <= 0 ? width : (n / last) * width)
  const y = (value: number) => height - (value / top) * (height - 6)
  const follow = (event: PointerEvent) => {
    const area = box.current?.getBoundingClientRect()
    if (area !== undefined && last > 0) setPointed(Math.round(((event.clientX - area.left) / area.width) * last))
  }
  const said = lines.map(({ name, values }) => `${name} ${textOf(values[last], show)}`).join(', ')
  return (
    <figure class="panel chart">
      <figcaption>
        <h2>{props.title}</h2>
        <span class="muted num small">
          {pointed !== undefined && times[i] !== undefined ? dateTime(times[i]).slice(11) : ''}
        </span>
      </figcaption>
      <ul class="chart-now num">
        {lines.map(({ name, color, values }) => (
          <li key={name}>
            <span class="key" style={{ background: color }} /> <span class="muted">{name}</span>{' '}
            <strong>{textOf(values[i], show)}</strong>
          </li>
        ))}
      </ul>
      <div class="chart-area">
        <svg
          ref={box}
          viewBox={`0 0 ${width} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${props.title}: now ${said}`}
          onPointerMove={follow}
          onPointerLeave={() => setPointed(undefined)}
        >
          {[0, 0.5, 1].map((share) => (
            <line key={share} x1={0} x2={width} y1={y(share * top)} y2={y(share * top)} class="chart-grid" />
          ))}
          {lines.map(({ name, color, values }) => (
            <path key={name} d={pathOf(values, x, y)} style={{ stroke: color }} class="chart-line" />
          ))}
          {pointed !== undefined && <line x1={x(i)} x2={x(i)} y1={0} y2={height} class="chart-cursor" />}
        </svg>
        <span class="chart-scale top num">{show(top)}</span>
        <span class="chart-scale bottom num">{show(0)}</span>
      </div>
    </figure>
  )
}

function textOf(value: number | undefined, show: (value: number) => string): string {
  return value === undefined ? '–' : show(value)
}

/** The line breaks where there is no value. */
function pathOf(
  values: readonly (number | undefined)[],
  x: (n: number) => number,
  y: (value: number) => number,
): string {
  let drawing = false
  let path = ''
  for (const [n, value] of values.entries()) {
    if (value === undefined) {
      drawing = false
      continue
    }
    path += `${drawing ? 'L' : 'M'}${x(n).toFixed(1)} ${y(value).toFixed(1)}`
    drawing = true
  }
  return path
}

/** The next round number that is at least the value. */
export function niceTop(value: number): number {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return (steps.find((step) => step * power >= value) ?? 10) * power
}
