//!tilelab block=(64,1) grid=(Width,Width)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float part[64];
    int t = threadIdx.x;
    float s = 0;
    for (int k = t; k < Width; k += 64)
        s += M[blockIdx.y * Width + k] * N[k * Width + blockIdx.x];
    part[t] = s;
    __syncthreads();
    for (int stride = 32; stride > 0; stride >>= 1) {
        if (t < stride) {
            part[t] += part[t + stride];
            __syncthreads();
        }
    }
    __syncthreads();
    if (t == 0) P[blockIdx.y * Width + blockIdx.x] = part[0];
}
