;; One call of the script engine instead of nine, because each call from Python takes 50 µs.
;; Its imports are exports of the guest, whose memory it uses.
(module
  (import "guest" "memory" (memory 1))
  (import "guest" "new_string" (func $new_string (param i32 i32) (result i32)))
  (import "guest" "call_function" (func $call_function (param i32 i32 i32 i32 i32) (result i32)))
  (import "guest" "execute_pending_jobs" (func $execute_pending_jobs (result i32)))
  (import "guest" "get_string" (func $get_string (param i32) (result i32)))
  (import "guest" "free_value" (func $free_value (param i32)))
  (import "guest" "qjs_last_len" (func $last_length (result i32)))
  (import "guest" "qjs_last_ptr" (func $last_place (result i32)))
  (import "guest" "qjs_result_free" (func $free_result))

  ;; Call a function with a text of `length` bytes at `place`, and then the promises that wait, until none does: one call
  ;; of execute_pending_jobs runs 100,000 of them. The result is the length of the text that the function returned, or -1
  ;; if it failed, -2 if it returned no text, -3 if the text is longer than `space`. The text is put in `answer`; what is
  ;; longer is where qjs_last_ptr says, for the caller to free.
  (func (export "run") (param $function i32) (param $this i32) (param $place i32) (param $length i32)
      (param $answer i32) (param $space i32) (param $words i32) (result i32)
    (local $argument i32) (local $value i32) (local $failed i32)
    (local.set $argument (call $new_string (local.get $place) (local.get $length)))
    (i32.store (local.get $words) (local.get $argument))
    (local.set $failed
      (call $call_function (local.get $function) (local.get $this) (local.get $words) (i32.const 1)
        (i32.add (local.get $words) (i32.const 4))))
    (call $free_value (local.get $argument))
    (if (local.get $failed) (then (return (i32.const -1))))
    (local.set $value (i32.load offset=4 (local.get $words)))
    (loop $more (br_if $more (i32.ge_u (call $execute_pending_jobs) (i32.const 100000))))
    (local.set $failed (call $get_string (local.get $value)))
    (call $free_value (local.get $value))
    (if (local.get $failed) (then (return (i32.const -2))))
    (local.set $length (call $last_length))
    (if (i32.gt_u (local.get $length) (local.get $space)) (then (return (i32.const -3))))
    (memory.copy (local.get $answer) (call $last_place) (local.get $length))
    (call $free_result)
    (local.get $length)))
