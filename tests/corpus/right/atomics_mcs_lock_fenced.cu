// mcs lock fenced
// MCS queue lock among blocks
__device__ int tail = -1;
__device__ int nextOf[4096];
__device__ int go[4096];
__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    extern __shared__ unsigned int own[];
    for (int b = threadIdx.x; b < bins; b += blockDim.x) own[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[values[i]], 1u);
    __syncthreads();
    if (threadIdx.x == 0) {
        int me = blockIdx.x;
        atomicExch(&nextOf[me], -1);
        atomicExch(&go[me], 0);
        __threadfence();
        int before = atomicExch(&tail, me);
        __threadfence();
        if (before >= 0) {
            atomicExch(&nextOf[before], me);
            while (atomicAdd(&go[me], 0) == 0) {}
        }
        __threadfence();
        for (int b = 0; b < bins; b++) counts[b] += own[b];
        __threadfence();
        if (atomicAdd(&nextOf[me], 0) < 0) {
            if (atomicCAS(&tail, me, -1) != me) {
                int nx;
                while ((nx = atomicAdd(&nextOf[me], 0)) < 0) {}
                __threadfence(); atomicExch(&go[nx], 1);
            }
        } else { int nx = atomicAdd(&nextOf[me], 0); __threadfence(); atomicExch(&go[nx], 1); }
    }
}
