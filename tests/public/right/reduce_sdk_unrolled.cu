#define BLOCK_SIZE 128
template <unsigned int blockSize>
__device__ void lastWarp(volatile float* s, unsigned int tid) {
    float v = s[tid];
    if (blockSize >= 64) { v += s[tid + 32]; __syncwarp(); s[tid] = v; __syncwarp(); }
    if (blockSize >= 32) { v += s[tid + 16]; __syncwarp(); s[tid] = v; __syncwarp(); }
    if (blockSize >= 16) { v += s[tid + 8]; __syncwarp(); s[tid] = v; __syncwarp(); }
    if (blockSize >= 8) { v += s[tid + 4]; __syncwarp(); s[tid] = v; __syncwarp(); }
    if (blockSize >= 4) { v += s[tid + 2]; __syncwarp(); s[tid] = v; __syncwarp(); }
    if (blockSize >= 2) { v += s[tid + 1]; __syncwarp(); s[tid] = v; }
}
template <unsigned int blockSize>
__device__ void reduceBody(const float* g_idata, float* g_odata, unsigned int n) {
    __shared__ float sdata[blockSize];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockSize * 2) + tid;
    sdata[tid] = (i < n ? g_idata[i] : 0) + (i + blockSize < n ? g_idata[i + blockSize] : 0);
    __syncthreads();
    if (blockSize >= 512) { if (tid < 256) { sdata[tid] += sdata[tid + 256]; } __syncthreads(); }
    if (blockSize >= 256) { if (tid < 128) { sdata[tid] += sdata[tid + 128]; } __syncthreads(); }
    if (blockSize >= 128) { if (tid < 64) { sdata[tid] += sdata[tid + 64]; } __syncthreads(); }
    if (tid < 32) lastWarp<blockSize>(sdata, tid);
    if (tid == 0) g_odata[blockIdx.x] = sdata[0];
}
__global__ void reduceKernel(float* input, float* output, int n) { reduceBody<BLOCK_SIZE>(input, output, n); }
