import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { Server } from 'socket.io';

/** The stream's peers: servers that only write a fact to its watchers. */
type Fact = { group: number; type: string; fact: Record<string, unknown> };
export type PeerSaid = { kind: 'ready'; port: number };

const server = createServer();
const send = process.argv[2] === 'socket.io' ? throughSocketIo() : throughHttp();
process.on('message', ({ group, fact }: Fact) =>
  send(String(group), { ...fact, at: new Date().toISOString() }),
);
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object')
    process.send?.({ kind: 'ready', port: address.port } satisfies PeerSaid);
});

type Send = (group: string, fact: Record<string, unknown>) => void;

function throughHttp(): Send {
  const groups = new Map<string, Set<ServerResponse>>();
  let sent = 0;
  server.on('request', (request, response: ServerResponse) => {
    const group = request.url?.slice(1) ?? '';
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('event: snapshot\ndata: {}\n\n');
    groups.set(group, (groups.get(group) ?? new Set()).add(response));
  });
  return (group, fact) => {
    sent += 1;
    const bytes = Buffer.from(`id: ${sent}\nevent: fact\ndata: ${JSON.stringify(fact)}\n\n`);
    for (const response of groups.get(group) ?? []) response.write(bytes);
  };
}

function throughSocketIo(): Send {
  const sockets = new Server(server, { transports: ['websocket'] });
  sockets.on('connection', (socket) => socket.join(String(socket.handshake.query['group'])));
  return (group, fact) => sockets.to(group).emit('fact', fact);
}
