// The built-in words of CUDA, in the course's words: the editor completes them, and explains them. One table for both.

/** A word's forms, and its explanation. A form with "(" is a function; `threadIdx.x` is a part of `threadIdx`. */
type Row = readonly [forms: string, text: string];

const TABLE: readonly Row[] = [
  // Where code and data live
  ["__global__", "Marks a kernel. The host launches it, and each thread of the grid runs it once."],
  ["__device__", "Marks a function or variable of the GPU. Kernels can use it."],
  ["__host__", "Marks a function that the host can call. With `__device__`, kernels can call it too."],
  ["__shared__", "Puts an array into shared memory. The threads of a block share one copy of it."],
  ["__constant__", "Puts an array into constant memory. Kernels read it, and only the host writes it."],
  ["__restrict__", "Promises that no other pointer reaches this memory. The compiler can then load less often."],
  ["__forceinline__", "Copies the function's body to each of its calls."],
  ["__noinline__", "Keeps the function as a real call."],
  ["__launch_bounds__(threads)", "Sets the most threads of a block. The compiler chooses the number of registers for it."],
  // Which thread this is
  ["threadIdx.x threadIdx.y threadIdx.z", "The thread's index in its block, from 0. Neighbouring threads of a warp differ in `x`."],
  ["blockIdx.x blockIdx.y blockIdx.z", "The block's index in the grid, from 0."],
  ["blockDim.x blockDim.y blockDim.z", "The number of threads of a block in this direction."],
  ["gridDim.x gridDim.y gridDim.z", "The number of blocks of the grid in this direction."],
  ["warpSize", "The number of threads of a warp: 32."],
  // Barriers and fences
  ["__syncthreads()", "Waits for all threads of the block. Earlier writes to memory are then visible to all of them. Each thread of the block must reach it."],
  ["__syncthreads_count(condition)", "Waits like `__syncthreads()`. Returns the number of threads with a true condition."],
  ["__syncthreads_and(condition)", "Waits like `__syncthreads()`. Returns whether the condition is true in all threads."],
  ["__syncthreads_or(condition)", "Waits like `__syncthreads()`. Returns whether the condition is true in any thread."],
  ["__syncwarp(mask)", "Waits for the threads of this warp in the mask. Without a mask, for all of them."],
  ["__threadfence()", "Other threads of the GPU see this thread's writes in order. It waits for no thread."],
  ["__threadfence_block()", "Other threads of the block see this thread's writes in order. It waits for no thread."],
  // Warps
  ["__shfl_sync(mask, value, lane)", "Returns another thread's value. The lane is that thread's place in the warp."],
  ["__shfl_up_sync(mask, value, delta)", "Returns the value of the thread that is `delta` places lower in the warp."],
  ["__shfl_down_sync(mask, value, delta)", "Returns the value of the thread that is `delta` places higher in the warp."],
  ["__shfl_xor_sync(mask, value, bits)", "Exchanges values between threads. The partner's place is this one with the bits flipped."],
  ["__ballot_sync(mask, condition)", "Returns one bit for each thread of the warp: whether its condition is true."],
  ["__any_sync(mask, condition)", "Returns whether the condition is true in any thread of the mask."],
  ["__all_sync(mask, condition)", "Returns whether the condition is true in all threads of the mask."],
  ["__activemask()", "Returns the threads of the warp that run this line together. Don't use it as a list of threads to wait for."],
  ["__match_any_sync(mask, value)", "Returns the threads of the mask that have the same value."],
  ["__reduce_add_sync(mask, value)", "Returns the sum of a whole number over the threads of the mask."],
  ["__reduce_min_sync(mask, value)", "Returns the least whole number of the threads in the mask."],
  ["__reduce_max_sync(mask, value)", "Returns the greatest whole number of the threads in the mask."],
  // Atomics
  ["atomicAdd(address, value)", "Adds to memory in one step, so no other thread's update is lost. Returns the old value."],
  ["atomicSub(address, value)", "Subtracts from memory in one step. Returns the old value."],
  ["atomicMin(address, value)", "Keeps the smaller of memory and value, in one step. Returns the old value."],
  ["atomicMax(address, value)", "Keeps the larger of memory and value, in one step. Returns the old value."],
  ["atomicExch(address, value)", "Replaces the value in memory in one step. Returns the old value."],
  ["atomicCAS(address, compare, value)", "Replaces the value in memory if it equals `compare`, in one step. Returns the old value."],
  ["atomicAnd(address, value)", "Combines bits with `&` in one step. Returns the old value."],
  ["atomicOr(address, value)", "Combines bits with `|` in one step. Returns the old value."],
  ["atomicXor(address, value)", "Combines bits with `^` in one step. Returns the old value."],
  ["atomicInc(address, limit)", "Adds 1 in one step, and goes back to 0 after the limit. Returns the old value."],
  ["atomicDec(address, limit)", "Subtracts 1 in one step, and goes back to the limit below 0. Returns the old value."],
  // Types
  ["dim3", "Up to three sizes: of a grid or a block."],
  ["float2", "Two floats, `x` and `y`. A thread loads both with one access of 8 bytes."],
  ["float4", "Four floats, `x` to `w`. A thread loads all with one access of 16 bytes."],
  ["int2", "Two ints, `x` and `y`. A thread loads both with one access of 8 bytes."],
  ["int4", "Four ints, `x` to `w`. A thread loads all with one access of 16 bytes."],
  ["make_float2(x, y)", "Makes a `float2`."],
  ["make_float4(x, y, z, w)", "Makes a `float4`."],
  // Arithmetic
  ["fmaf(a, b, c)", "Returns `a * b + c`, rounded once. One instruction."],
  ["sqrtf(x)", "Returns the square root of a float."],
  ["rsqrtf(x)", "Returns 1 / √x of a float."],
  ["expf(x)", "Returns the exponential of a float. `__expf` is faster and less exact."],
  ["logf(x)", "Returns the natural logarithm of a float. `__logf` is faster and less exact."],
  ["fabsf(x)", "Returns the absolute value of a float."],
  ["fminf(a, b)", "Returns the smaller of two floats."],
  ["fmaxf(a, b)", "Returns the larger of two floats."],
  ["__expf(x)", "A faster, less exact `expf`."],
  ["__logf(x)", "A faster, less exact `logf`."],
  ["__fdividef(x, y)", "A faster, less exact division of floats."],
  ["__popc(x)", "Returns the number of bits that are 1."],
  ["__clz(x)", "Returns the number of zero bits above the highest 1."],
  ["__ffs(x)", "Returns the place of the lowest 1 bit, from 1. It returns 0 if there is none."],
  ["__brev(x)", "Returns the bits in reverse order."],
  ["__ldg(address)", "Loads through the read-only cache. Only for memory that the kernel never writes."],
];

/** parts: its members; takes: whether it is a function, and what it takes; "" for no arguments */
export interface Word {
  readonly name: string;
  readonly parts: readonly string[];
  readonly takes: string | null;
  readonly text: string;
}

/** Every word by its name. */
export const WORDS: ReadonlyMap<string, Word> = new Map(TABLE.map(read).map((word) => [word.name, word]));

function read([forms, text]: Row): Word {
  const name = /^\w+/.exec(forms)![0];
  const rest = forms.slice(name.length);
  return {
    name,
    parts: rest.startsWith(".") ? forms.split(" ") : [],
    takes: rest.startsWith("(") ? rest.slice(1, -1) : null,
    text,
  };
}
