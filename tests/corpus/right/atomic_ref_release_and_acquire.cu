#include <cuda/atomic>
//!tilelab block=(16,16) grid=(ceil(Width/16), ceil(Width/16), 2)
__device__ float half[2][128 * 128];
__device__ unsigned int tickets[64];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ unsigned int drawn;
    int c = threadIdx.x + blockIdx.x * 16, r = threadIdx.y + blockIdx.y * 16, at = r * Width + c;
    bool in = c < Width && r < Width;
    float s = 0;
    for (int k = blockIdx.z; in && k < Width; k += 2) s += M[r * Width + k] * N[k * Width + c];
    if (in) half[blockIdx.z][at] = s;
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        cuda::atomic_ref<unsigned int, cuda::thread_scope_device> ticket(tickets[blockIdx.y * 8 + blockIdx.x]);
        drawn = ticket.fetch_xor(1, cuda::memory_order_acq_rel);
    }
    __syncthreads();
    if (drawn == 1 && in) P[at] = half[0][at] + half[1][at];
}
