// The state of the server: health checks, live charts, recent requests and the current configuration.
import { useEffect } from 'preact/hooks'
import { PageHead, Stat } from '../../parts/panel.tsx'
import { Empty, Failure } from '../../parts/states.tsx'
import { bytes, byteUnit, compact, count, duration, secondsUnit, type Unit } from '../../show.ts'
import { Chart, type Line } from './chart.tsx'
import { Configuration } from './configuration.tsx'
import { HealthPanel } from './health-panel.tsx'
import { historyError, type Moment, metric, moments, newest, record } from './history.ts'
import { LogTail } from './log-tail.tsx'
import { MemoryPanel } from './memory-panel.tsx'
import { ThreadsPanel } from './threads-panel.tsx'

const perSecond: Unit = { one: (value) => `${compact(value)}/s` }
const cores: Unit = { one: (value) => `${compact(value)} cores` }
const events: Unit = { one: (value) => `${compact(value)} events` }

export function Operations() {
  useEffect(record, [])
  const error = historyError.value
  const samples = newest.value
  return (
    <>
      <PageHead title="Operations" />
      <div class="stack">
        <HealthPanel />
        {error && <Failure error={error} />}
        {samples.length > 0 && (
          <div class="grid narrow">
            <Stat label="Uptime" value={duration(metric(samples, 'annal_uptime_seconds'))} />
            <Stat label="Objects" value={count(metric(samples, 'annal_objects'))} />
            <Stat label="Newest event" value={count(metric(samples, 'annal_lsn_applied'))} unit="LSN" />
            <Stat label="Log on disk" value={bytes(metric(samples, 'annal_log_bytes'))} />
            <Stat label="Memory" value={bytes(metric(samples, 'process_resident_memory_bytes'))} />
          </div>
        )}
        {!error && <Charts moments={moments.value} />}
        <div class="halves">
          <LogTail />
          <div class="stack">
            <ThreadsPanel samples={samples} />
            <MemoryPanel samples={samples} />
          </div>
        </div>
        <Configuration />
      </div>
    </>
  )
}

function Charts({ moments }: { readonly moments: readonly Moment[] }) {
  if (moments.length < 2) {
    return (
      <div class="panel">
        <Empty title="Measuring">
          <p>Charts appear after two measurements.</p>
        </Empty>
      </div>
    )
  }
  const times = moments.map(({ timeMs }) => timeMs)
  const line = (name: string, color: number, pick: (moment: Moment) => number | undefined): Line => ({
    name,
    color: `--c${color}`,
    values: moments.map(pick),
  })
  return (
    <div class="charts">
      <Chart
        title="Requests"
        times={times}
        unit={perSecond}
        lines={[line('all', 1, (m) => m.requestsPerS), line('failed', 7, (m) => m.errorsPerS)]}
      />
      <Chart
        title="Latency"
        times={times}
        unit={secondsUnit}
        lines={[line('median', 1, (m) => m.p50), line('99 %', 2, (m) => m.p99)]}
      />
      <Chart
        title="Log"
        times={times}
        unit={perSecond}
        lines={[line('records', 3, (m) => m.appendsPerS), line('fsyncs', 4, (m) => m.syncsPerS)]}
      />
      <Chart
        title="Memory"
        times={times}
        unit={byteUnit}
        lines={[line('process', 1, (m) => m.residentBytes), line('collections', 3, (m) => m.accountedBytes)]}
      />
      <Chart title="Processor" times={times} unit={cores} lines={[line('busy', 2, (m) => m.cpu)]} />
      <Chart title="Log on disk" times={times} unit={byteUnit} lines={[line('size', 6, (m) => m.logBytes)]} />
      <Chart
        title="Apply lag"
        times={times}
        unit={events}
        lines={[line('durable but not yet visible', 5, (m) => m.applyLag)]}
      />
      <Chart
        title="Since the checkpoint"
        times={times}
        unit={events}
        lines={[line('to replay after a crash', 8, (m) => m.sinceCheckpoint)]}
      />
    </div>
  )
}
