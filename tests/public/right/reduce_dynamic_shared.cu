//!tilelab block=(BLOCK_SIZE) grid=(ceil(n/(2*BLOCK_SIZE))) shared=4*BLOCK_SIZE
#define BLOCK_SIZE 64
__global__ void reduceKernel(const float *g_in, float *g_out, int size)
{
    extern __shared__ float s_data[];
    unsigned int tid = threadIdx.x;
    unsigned int idx = blockIdx.x * blockDim.x * 2 + tid;
    float a = (idx < size) ? g_in[idx] : 0;
    float b = (idx + blockDim.x < size) ? g_in[idx + blockDim.x] : 0;
    s_data[tid] = a + b;
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            s_data[tid] += s_data[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) g_out[blockIdx.x] = s_data[0];
}
