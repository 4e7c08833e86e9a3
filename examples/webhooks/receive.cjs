const { createServer } = require('node:http');
const { Webhook } = require('standardwebhooks');

const webhook = new Webhook(process.env.WEBHOOK_SECRET);
createServer(async (request, response) => {
  try {
    let body = '';
    for await (const part of request.setEncoding('utf8')) body += part;
    const event = webhook.verify(body, request.headers);
    console.log(request.headers['webhook-id'], event.type);
    response.writeHead(204).end();
  } catch {
    response.writeHead(401).end();
  }
}).listen(Number(process.env.PORT), '127.0.0.1');
