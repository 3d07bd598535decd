//!tilelab block=(16,16) grid=(2*ceil(Width/16)*ceil(Width/16))
__device__ unsigned int next;
__device__ int ready[256];
__device__ float carried[128 * 128];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ unsigned int mine;
    bool leader = threadIdx.x == 0 && threadIdx.y == 0;
    if (leader) mine = atomicInc(&next, gridDim.x - 1);
    __syncthreads();
    int across = (Width + 15) / 16, tile = mine / 2;
    int r = tile / across * 16 + threadIdx.y, c = tile % across * 16 + threadIdx.x;
    bool in = r < Width && c < Width;
    float s = 0;
    for (int k = mine % 2; in && k < Width; k += 2) s += M[r * Width + k] * N[k * Width + c];
    if (mine % 2 == 0) {
        if (in) carried[r * Width + c] = s;
        __threadfence();
        __syncthreads();
        if (leader) atomicExch(&ready[tile], 1);
    } else {
        if (leader) while (atomicExch(&ready[tile], 0) == 0) { }
        __syncthreads();
        __threadfence();
        if (in) P[r * Width + c] = s + carried[r * Width + c];
    }
}
