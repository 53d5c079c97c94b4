const answer = http.post(`${API}/orders`, {
  headers: { Authorization: 'Bearer ' + TOKEN, 'Content-Type': 'application/json' },
  body: JSON.stringify({ item: 'mug' }),
})
if (!answer.ok) throw new Error('no order: ' + answer.status)
output.order = json(answer.body)
