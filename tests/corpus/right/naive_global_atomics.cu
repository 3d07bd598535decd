//!tilelab block=(32,8) grid=(1,1)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int t = threadIdx.y * 32 + threadIdx.x;
    for (int i = t; i < Width * Width; i += 256) P[i] = 0.0f;
    __syncthreads();
    for (int work = t; work < 2 * Width * Width; work += 256) {
        int e = work / 2, half = work % 2;
        float part = 0;
        for (int k = half; k < Width; k += 2)
            part += M[e / Width * Width + k] * N[k * Width + e % Width];
        atomicAdd(P + e, part);
    }
}
