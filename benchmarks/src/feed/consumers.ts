// Consumers of the change feed in a process of their own: open streams that read everything and keep only the number of bytes.
//
//   node consumers.ts PORT COUNT
import net from 'node:net'

const [port, count] = process.argv.slice(2).map(Number) as [number, number]
const request = 'GET /api/v2/changes HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n'

let bytes = 0
let begun = 0
for (let i = 0; i < count; i++) {
  const socket = net.connect(port, '127.0.0.1', () => socket.write(request))
  let isBegun = false
  socket.on('data', (data) => {
    if (!isBegun && ++begun === count) process.send?.({ begun })
    isBegun = true
    bytes += data.length
  })
  socket.on('close', () => {
    throw new Error('the server ended a stream')
  })
}

// Ends without a farewell, as a consumer that is killed does.
process.on('message', () => process.send?.({ bytes }, () => process.exit()))
