//!tilelab block=(32,32) grid=(1) shared=2*Width*Width*4
extern __shared__ float sh[];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int n2 = Width * Width, tid = threadIdx.y * 32 + threadIdx.x;
    for (int i = tid; i < n2; i += 1024) { sh[i] = M[i]; sh[n2 + i] = N[i]; }
    __syncthreads();
    for (int i = threadIdx.y; i < Width; i += 32)
        for (int j = threadIdx.x; j < Width; j += 32) {
            float s = 0;
            for (int k = 0; k < Width; ++k) s += sh[i * Width + k] * sh[n2 + k * Width + j];
            P[i * Width + j] = s;
        }
}
